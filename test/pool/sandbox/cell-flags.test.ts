/** The command lines of a cell and of its threads: what they may read, and that this Node understands them. */
import { execFileSync } from 'node:child_process';
import { sep } from 'node:path';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { ownFolder, packageFiles, readableFolders } from '../../../src/pool/package-paths.js';
import { cellFlags, isolateFlags, REALM_FLAGS } from '../../../src/pool/sandbox/cell-flags.js';

const READ = '--allow-fs-read=';

function readable(flags: readonly string[]): string[] {
  return flags.filter(flag => flag.startsWith(READ)).map(flag => flag.slice(READ.length));
}

test('readableFolders() are whole folders with code of this package and of its libraries', t => {
  const folders = readableFolders();
  t.is(folders[0], ownFolder() + sep);
  t.true(folders.some(folder => folder.endsWith(`${sep}piscina${sep}`)));
  for (const folder of folders) t.true(folder.endsWith(sep), folder);
});

test('packageFiles() has the description that says what kind of modules the files are', t => {
  const { paths } = packageFiles();
  t.is(paths[0], ownFolder());
  t.is(paths.filter(path => path.endsWith(`${sep}package.json`)).length, 1);
});

test('cellFlags() allow reading the code, workers, and nothing else', t => {
  const flags = cellFlags();
  t.deepEqual(readable(flags), [...readableFolders()]);
  const allowed = flags.filter(flag => flag.startsWith('--allow-') && !flag.startsWith(READ));
  t.deepEqual(allowed, ['--allow-worker']);
});

test('isolateFlags() allow reading the code and the figures of the thread, and nothing else', t => {
  const flags = isolateFlags();
  const figures = ['/proc/thread-self/schedstat', '/proc/thread-self/stat'];
  t.deepEqual(readable(flags), [...readableFolders(), ...figures]);
  t.deepEqual(
    flags.filter(flag => flag.startsWith('--allow-') && !flag.startsWith(READ)),
    [],
  );
  for (const flag of REALM_FLAGS) t.true(flags.includes(flag), flag);
});

test('a process with the flags of a cell starts, and may neither write, nor start programs, nor compile text', t => {
  const program = `
    const tried = {};
    const attempt = (name, act) => { try { act(); tried[name] = 'done'; } catch (error) { tried[name] = error.code ?? error.name; } };
    attempt('write', () => require('node:fs').writeFileSync('/tmp/edgehost-not-written', ''));
    attempt('read', () => require('node:fs').readFileSync('/etc/hostname'));
    attempt('start', () => require('node:child_process').spawnSync('true'));
    attempt('compile', () => new Function('return 1')());
    tried.proto = '__proto__' in {};
    process.stdout.write(JSON.stringify(tried));`;
  const output = execFileSync(process.execPath, [...cellFlags(), '--eval', program], { env: {}, cwd: ownFolder() });
  t.deepEqual(JSON.parse(output.toString()), {
    write: 'ERR_ACCESS_DENIED',
    read: 'ERR_ACCESS_DENIED',
    start: 'ERR_ACCESS_DENIED',
    compile: 'EvalError',
    proto: false,
  });
});

test('a thread takes the flags of a realm', async t => {
  const program = 'require("node:worker_threads").parentPort.postMessage(typeof require("node:vm").SourceTextModule)';
  const worker = new Worker(program, { eval: true, execArgv: [...REALM_FLAGS] });
  t.is(await new Promise(resolve => worker.once('message', resolve)), 'function');
});
