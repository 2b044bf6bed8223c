/** Installs the packages of a peer with npm, into a temporary folder of its own. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Peer } from './peer.js';

/** isolated-vm may be compiled on the spot. */
const INSTALL_WITHIN_MS = 5 * 60_000;

/** The folder. Rejects with the last lines of npm when it cannot be installed. */
export async function installPeer(peer: Pick<Peer, 'name' | 'packages'>, parent: string): Promise<string> {
  const folder = join(parent, peer.name);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  try {
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...peer.packages], {
      cwd: folder,
      timeout: INSTALL_WITHIN_MS,
      maxBuffer: 16 * 1024 * 1024,
    });
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    throw new Error(`${peer.packages.join(' ')} cannot be installed: ${output.trim().split('\n').slice(-3).join(' ')}`);
  }
  return folder;
}
