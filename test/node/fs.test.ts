import test from 'ava';
import { ISOLATIONS, newHost } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

const IMPORTS = `import fs from 'node:fs'; import fsp from 'fs/promises'; import { Buffer } from 'node:buffer';
import { AsyncLocalStorage } from 'node:async_hooks';`;

/** Each script has a folder of its own, whose name is not printed. */
const BEFORE = `const dir = fs.mkdtempSync('/tmp/edgehost-fs-test-');
const clean = value => {
  if (typeof value === 'string') return value.replaceAll(dir, 'DIR');
  if (value instanceof Error) return [value.code, value.errno, value.syscall, value.message, value.path, value.dest].map(clean);
  return value;
};
const say = (...values) => print(...values.map(clean));
const tryIt = act => { try { say(act()); } catch (error) { say(error); } };
const codeOf = act => { try { act(); say('no error'); } catch (error) { say(error.code); } };
const at = name => dir + '/' + name;
try {`;
const AFTER = `} finally { fs.rmSync(dir, { recursive: true }); }`;

test('node:fs has files, directories, links and their errors as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `${BEFORE}
    fs.writeFileSync(at('a'), 'hello'); fs.appendFileSync(at('a'), Buffer.from(' world'));
    say(fs.readFileSync(at('a'), 'utf8'), fs.readFileSync(at('a')).toString('hex'), fs.readFileSync(at('a'), { encoding: 'latin1' }));
    const stats = fs.statSync(at('a'));
    say(stats.size, stats.isFile(), stats.isDirectory(), stats.mode.toString(8), stats.nlink, stats.mtime instanceof Date);
    say(typeof fs.statSync(at('a'), { bigint: true }).mtimeNs, fs.statSync(at('none'), { throwIfNoEntry: false }));
    for (const act of [
      () => fs.readFileSync(at('none')), () => fs.readFileSync(dir), () => fs.statSync(at('a/b')), () => fs.mkdirSync(at('a')),
      () => fs.mkdirSync(at('x/y')), () => fs.rmdirSync(at('a')), () => fs.unlinkSync(at('none')), () => fs.openSync(at('a'), 'wx'),
      () => fs.readdirSync(at('a')), () => fs.accessSync(at('none')), () => fs.renameSync(at('none'), at('b')),
      () => fs.copyFileSync(at('none'), at('b')), () => fs.copyFileSync(at('a'), at('a2'), 1), () => fs.copyFileSync(at('a'), at('a2'), 1),
      () => fs.writeFileSync(at('no/file'), 'x'), () => fs.readlinkSync(at('a')), () => fs.realpathSync(at('none')),
      () => fs.mkdirSync(at('d/e/f'), { recursive: true }), () => fs.mkdirSync(at('d/e/f'), { recursive: true }),
      () => fs.mkdirSync(at('a/q'), { recursive: true }), () => fs.rmdirSync(at('d')),
    ]) tryIt(act);
    fs.writeFileSync(at('d/e/g'), '1');
    say(fs.readdirSync(dir), fs.readdirSync(at('d'), { recursive: true }), fs.readdirSync(at('d'), 'buffer').map(String));
    say(fs.readdirSync(at('d/e'), { withFileTypes: true }).map(entry => [entry.name, entry.isDirectory(), entry.isFile()]));
    codeOf(() => fs.rmSync(at('d'))); codeOf(() => fs.rmSync(at('none'))); codeOf(() => fs.rmSync(at('none'), { force: true }));
    fs.symlinkSync('a', at('link')); fs.symlinkSync('loop', at('loop')); fs.symlinkSync(at('d'), at('dl')); fs.symlinkSync('made', at('dangling'));
    say(fs.readlinkSync(at('link')), fs.readFileSync(at('link'), 'utf8'), fs.lstatSync(at('link')).isSymbolicLink());
    say(fs.statSync(at('link')).isFile(), fs.realpathSync(at('link')), fs.lstatSync(at('link')).size, fs.readdirSync(at('dl/e/..')));
    fs.writeFileSync(at('dangling'), 'through'); say(fs.readFileSync(at('made'), 'utf8'));
    tryIt(() => fs.readFileSync(at('loop'))); tryIt(() => fs.symlinkSync('a', at('link')));
    codeOf(() => fs.symlinkSync('', at('empty'))); codeOf(() => fs.symlinkSync('x'.repeat(5000), at('long'))); codeOf(() => fs.statSync(at('y'.repeat(300))));
    fs.linkSync(at('a'), at('hard')); fs.appendFileSync(at('hard'), '!');
    say(fs.readFileSync(at('a'), 'utf8'), fs.statSync(at('a')).nlink); fs.unlinkSync(at('hard')); say(fs.statSync(at('a')).nlink);
    fs.renameSync(at('a2'), at('a3')); say(fs.existsSync(at('a2')), fs.existsSync(at('a3')));
    tryIt(() => fs.renameSync(at('d'), at('d/e/z'))); tryIt(() => fs.renameSync(at('a3'), at('d'))); tryIt(() => fs.renameSync(at('d'), at('a3')));
    fs.cpSync(at('d'), at('copy'), { recursive: true }); say(fs.readdirSync(at('copy'), { recursive: true }));
    codeOf(() => fs.cpSync(at('d'), at('copy2'))); codeOf(() => fs.cpSync(at('d'), at('d/in'), { recursive: true }));
    codeOf(() => fs.cpSync(at('a'), at('a3'), { force: false, errorOnExist: true }));
    fs.chmodSync(at('a'), 0o600); say((fs.statSync(at('a')).mode & 0o777).toString(8));
    fs.utimesSync(at('a'), 1, new Date(2000)); say(fs.statSync(at('a')).atimeMs, fs.statSync(at('a')).mtime.toISOString());
    say(fs.readFileSync(new URL('file://' + at('a')), 'utf8'), fs.constants.O_CREAT, fsp.constants.R_OK, fs.promises === fsp);
    for (const act of [
      () => fs.readFileSync({}), () => fs.readFileSync('a\\0b'), () => fs.readFileSync(at('a'), 'nope'), () => fs.readFileSync(at('a'), 5),
      () => fs.openSync(at('a'), 'q'), () => fs.writeFileSync(at('a'), 5), () => fs.mkdirSync(at('m'), { recursive: 5 }),
      () => fs.chmodSync(at('a'), 'x'), () => fs.readFileSync(new URL('http://x/y')), () => fs.utimesSync(at('a'), 'x', 1),
    ]) tryIt(act);
    ${AFTER}`,
  );
});

test('node:fs reads and writes by descriptors, callbacks, promises and handles as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `${BEFORE}
    fs.writeFileSync(at('a'), 'hello');
    const fd = fs.openSync(at('rw'), 'w+'); const bytes = Buffer.alloc(6);
    say(fs.writeSync(fd, 'abcdef'), fs.writeSync(fd, Buffer.from('XY'), 0, 2, 1), fs.readSync(fd, Buffer.alloc(4)));
    say(fs.readSync(fd, bytes, 0, 6, 0), bytes.toString(), fs.readSync(fd, bytes, { position: 3 }), bytes.toString(), fs.fstatSync(fd).size);
    for (const length of [3, 5]) { fs.ftruncateSync(fd, length); say(fs.readFileSync(at('rw')).toString('hex')); }
    fs.writeSync(fd, 'Z', 8); say(fs.readFileSync(at('rw')).toString('hex'));
    say(fs.writevSync(fd, [Buffer.from('1'), Buffer.from('23')], 0), fs.readvSync(fd, [Buffer.alloc(2), Buffer.alloc(20)], 0));
    fs.closeSync(fd); tryIt(() => fs.closeSync(99999999)); tryIt(() => fs.readSync(fd, bytes)); tryIt(() => fs.readSync('x', bytes));
    const reader = fs.openSync(at('a'), 'r'); tryIt(() => fs.writeSync(reader, 'x')); fs.closeSync(reader);
    const adder = fs.openSync(at('a'), 'a'); tryIt(() => fs.readSync(adder, bytes)); fs.writeSync(adder, 'end', 0); fs.closeSync(adder);
    say(fs.readFileSync(at('a'), 'utf8'));
    const call = (name, ...args) => new Promise(resolve => fs[name](...args, (...results) => {
      say(name, ...results.map(value => value instanceof Uint8Array ? [...value.subarray(0, 4)] : value?.isFile ? value.size : value));
      resolve();
    }));
    await call('readFile', at('a'), 'utf8'); await call('readFile', at('none')); await call('stat', at('a')); await call('mkdir', at('n'));
    await call('writeFile', at('n/x'), 'x'); await call('readdir', at('n')); await call('exists', at('n')); await call('access', at('zz'));
    await call('rm', at('n'), { recursive: true });
    const opened = fs.openSync(at('a')); await call('read', opened, Buffer.alloc(4), 0, 4, 0); await call('close', opened);
    const storage = new AsyncLocalStorage();
    await storage.run('kept', () => new Promise(resolve => fs.readFile(at('a'), () => { say(storage.getStore()); resolve(); })));
    tryIt(() => fs.readFile(at('a')));
    try { await fsp.readFile(at('none')); } catch (error) { say(error); }
    const handle = await fsp.open(at('h'), 'w+');
    say(typeof handle.fd, (await handle.write('text')).bytesWritten, (await handle.read(Buffer.alloc(10), 0, 10, 0)).bytesRead);
    await handle.truncate(2); await handle.appendFile('!!'); await handle.close(); say(handle.fd, await fsp.readFile(at('h'), 'utf8'));
    try { await handle.read(); } catch (error) { say(error.code); }
    await fsp.writeFile(at('it'), ['a', 'b']); await fsp.writeFile(at('it2'), (async function* () { yield Buffer.from('x'); yield 'y'; })());
    say(await fsp.readFile(at('it'), 'utf8'), await fsp.readFile(at('it2'), 'utf8'));
    const source = fs.createReadStream(at('a'), { start: 1, end: 4, encoding: 'utf8', highWaterMark: 2 });
    source.on('open', number => say('open', typeof number)).on('ready', () => say('ready'));
    let text = ''; for await (const piece of source) text += piece + '|'; say(text, source.bytesRead, source.path);
    await new Promise(resolve => fs.createReadStream(at('none')).on('error', error => { say(error); resolve(); }));
    const target = fs.createWriteStream(at('ws')); target.write('one'); await new Promise(resolve => target.end('two', resolve));
    say(fs.readFileSync(at('ws'), 'utf8'), target.bytesWritten);
    const patch = fs.createWriteStream(at('ws'), { flags: 'r+', start: 1 }); await new Promise(resolve => patch.end('NE', resolve));
    say(fs.readFileSync(at('ws'), 'utf8'));
    fs.writeFileSync(at('lines'), '1\\n2\\n3'); const found = [];
    for await (const line of (await fsp.open(at('lines'))).readLines()) found.push(line);
    say(found);
    const open = fs.opendirSync(dir); say(typeof open.readSync().name); open.closeSync(); codeOf(() => open.readSync());
    const names = []; for await (const entry of await fsp.opendir(dir)) names.push(entry.name); say(names.sort());
    const zero = fs.openSync('/dev/zero', 'r+'); const some = Buffer.alloc(3, 1); say(fs.readSync(zero, some), [...some], fs.writeSync(zero, 'x'));
    fs.closeSync(zero); tryIt(() => fs.writeFileSync('/dev/full', 'x')); fs.writeFileSync('/dev/null', 'x');
    say(fs.readFileSync('/dev/null').length, fs.statSync('/dev/null').isCharacterDevice());
    ${AFTER}`,
  );
});

test('node:fs has the modules of the deployment, which cannot be changed', async t => {
  const [isolation] = ISOLATIONS;
  if (isolation === undefined) return;
  const lines = await inFunction(
    t,
    IMPORTS,
    `print(fs.readdirSync('/'), fs.readdirSync('/dev'), fs.readdirSync('/bundle'), fs.readdirSync('.'));
    const [name] = fs.readdirSync('/bundle');
    print(fs.readFileSync('/bundle/' + name, 'utf8').includes('says its own text'), fs.readFileSync(name).length === fs.statSync(name).size);
    const codeOf = act => { try { act(); print('no error'); } catch (error) { print(error.code); } };
    for (const act of [
      () => fs.writeFileSync(name, ''), () => fs.writeFileSync('/bundle/new', ''), () => fs.unlinkSync(name), () => fs.mkdirSync('/new'),
      () => fs.renameSync(name, '/tmp/x'), () => fs.linkSync(name, '/tmp/x'), () => fs.rmSync('/bundle', { recursive: true }),
      () => fs.chmodSync(name, 0o777), () => fs.openSync(name, 'r+'), () => fs.truncateSync(name), () => fs.rmSync('/tmp', { recursive: true }),
      () => fs.symlinkSync('/tmp', '/dev/x'), () => fs.accessSync(name, fs.constants.W_OK), () => fs.utimesSync('/dev/null', 1, 1),
    ]) codeOf(act);
    fs.copyFileSync(name, '/tmp/copy'); print(fs.statSync('/tmp/copy').size === fs.statSync(name).size);
    const random = fs.openSync('/dev/random'); const bytes = Buffer.alloc(200000);
    print(fs.readSync(random, bytes), new Set(bytes).size);
    codeOf(() => fs.readFileSync('/dev/random'));
    attempt(() => fs.watch('/tmp'));`,
    { isolation },
  );
  t.deepEqual(lines, [
    '["bundle","dev","tmp"] ["full","null","random","zero"] ["function.js"] ["function.js"]',
    'true true',
    ...Array.from({ length: 9 }, () => '"EPERM"'),
    ...['"EPERM"', '"EPERM"', '"EPERM"', '"EACCES"', '"EPERM"'],
    'true',
    '200000 256',
    '"ERR_FS_FILE_TOO_LARGE"',
    'Error EDGE_NOT_SUPPORTED node:fs: watch() is not supported in functions. The files of a function are in memory, and nothing else changes them: docs/node.md has what there is.',
  ]);
});

test('files below /tmp end with their invocation, and are bounded', async t => {
  for (const isolation of ISOLATIONS) {
    const host = newHost(t, { isolation, limits: { cpuMs: 5000 } });
    const fn = await host.load(`${IMPORTS}
      let kept;
      const codeOf = act => { try { act(); return 'no error'; } catch (error) { return error.code; } };
      export default { async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/first') {
          fs.writeFileSync('/tmp/mine', 'first'); kept = fs.openSync('/tmp/mine');
          return new Response(fs.readFileSync(kept, 'utf8'));
        }
        if (pathname === '/second') return Response.json([fs.readdirSync('/tmp'), codeOf(() => fs.readFileSync(kept))]);
        if (pathname === '/bytes') {
          const piece = Buffer.alloc(16 * 1024 * 1024);
          const codes = Array.from({ length: 5 }, (_, i) => codeOf(() => fs.writeFileSync('/tmp/' + i, piece)));
          fs.rmSync('/tmp/0');
          return Response.json([codes, codeOf(() => fs.writeFileSync('/tmp/again', piece.subarray(1024 * 64)))]);
        }
        const open = [];
        const files = codeOf(() => { for (;;) open.push(fs.openSync('/tmp/many', 'w')); });
        const names = codeOf(() => { for (let i = 0; ; i++) fs.linkSync('/tmp/many', '/tmp/' + i); });
        return Response.json([files, open.length, names]);
      } };`);
    const ask = async (path: string): Promise<string> => (await fn.fetch(`http://function.example${path}`)).text();
    t.is(await ask('/first'), 'first');
    t.is(await ask('/second'), '[[],"EBADF"]');
    t.is(await ask('/bytes'), '[["no error","no error","no error","ENOSPC","ENOSPC"],"no error"]');
    t.is(await ask('/names'), '["EMFILE",1024,"ENOSPC"]');
  }
});
