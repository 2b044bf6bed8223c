/**
 * The attacks of other files of this folder, where nothing may be unshared: they are run by an application that has only the launcher. A failure there is shown
 * here with its title.
 */
import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { sendFilter } from '../../src/pool/launcher/command.js';
import { findPrograms } from '../../src/pool/sandbox/programs.js';
import { unlessMissing } from '../needs.js';
import { filtered, withDockerCapabilities, withoutNamespaces } from './native/environments.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const AVA = fileURLToPath(new URL('../../../node_modules/ava/entrypoints/cli.mjs', import.meta.url));
const { bwrap, setpriv, confine } = findPrograms();
const isRoot = process.geteuid?.() === 0;
const asRoot = unlessMissing(
  !isRoot || bwrap === undefined || setpriv === undefined || confine === undefined
    ? 'not root on Linux with bubblewrap, setpriv and the launcher'
    : undefined,
);

for (const file of ['hijacked-cell', 'hostile-cell', 'hostile-frames', 'native-engine', 'layers']) {
  asRoot(`${file}.test.ts passes where only the launcher makes the sandbox`, async t => {
    t.timeout(600_000);
    const { command, filter } = filtered(withoutNamespaces(), withDockerCapabilities());
    const [start = '', ...args] = [
      ...command,
      process.execPath,
      AVA,
      '--timeout=300s',
      `dist/test/attacks/${file}.test.js`,
    ];
    const child = spawn(start, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    sendFilter(child.stdio[3], filter);
    let text = '';
    const add = (chunk: Buffer): void => {
      text += chunk.toString();
    };
    child.stdout?.on('data', add);
    child.stderr?.on('data', add);
    const code = await new Promise(resolve => child.once('close', resolve));
    t.is(code, 0, text.slice(-4000));
    t.regex(text, /\d+ tests? passed/);
  });
}
