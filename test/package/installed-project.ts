/** An empty project into which the package is installed as it would be published. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../docs/markdown.js';

const run = promisify(execFile);

export interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

export interface InstalledProject {
  /** The caller removes it. */
  readonly project: string;
  readonly packed: Packed;
}

export async function installedProject(): Promise<InstalledProject> {
  const project = mkdtempSync(join(tmpdir(), 'edgehost-package-'));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
  const { stdout } = await run('npm', args, { cwd: ROOT });
  const [packed] = JSON.parse(stdout) as [Packed]; // what npm pack prints for one package
  writeFileSync(join(project, 'package.json'), '{"name":"app","private":true,"type":"module"}');
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.filename}`];
  await run('npm', install, { cwd: project });
  // What applications in TypeScript have besides.
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'), 'dir');
  return { project, packed };
}
