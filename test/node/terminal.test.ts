import test from 'ava';
import { ISOLATIONS } from '../host/new-host.js';
import { inFunction, sameAsNode } from './same-as-node.js';

const IMPORTS = `import readline from 'node:readline'; import * as promises from 'node:readline/promises';
import { PassThrough, Readable, Writable } from 'node:stream';`;

test('node:readline gives the lines of a stream as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const read = async (pieces, options) => {
      const got = [];
      for await (const line of readline.createInterface({ input: Readable.from(pieces), ...options })) got.push(line);
      return got;
    };
    print(await read(['a\\nb\\r\\nc']), await read(['a\\r', '\\nb\\n\\nc', 'd\\n']), await read(['one\\rtwo']), await read([]));
    print(await read([Buffer.from('€').subarray(0, 1), Buffer.from('€').subarray(1), '\\n'], { crlfDelay: Infinity }));
    const rl = readline.createInterface({ input: Readable.from(['first\\nsecond']) });
    for (const event of ['line', 'pause', 'resume', 'close']) rl.on(event, line => print(event, line));
    await new Promise(resolve => rl.on('close', resolve));
    attempt(() => rl.question('?', () => {}));
    const many = readline.createInterface({ input: Readable.from([Array.from({ length: 5000 }, (_, i) => i).join('\\n')]) });
    let count = 0; for await (const line of many) count += Number(line); print(count);
    const broken = readline.createInterface({ input: Readable.from(['x\\ny\\nz']) });
    for await (const line of broken) { print(line); break; }
    print(broken.closed, broken.terminal, broken.getPrompt());`,
  );
});

test('node:readline asks questions and moves cursors as in Node', async t => {
  await sameAsNode(
    t,
    IMPORTS,
    `const input = new PassThrough(); const written = [];
    const output = new Writable({ write(chunk, encoding, done) { written.push(String(chunk)); done(); } });
    const rl = readline.createInterface({ input, output, prompt: '$ ', terminal: false });
    rl.prompt(); rl.setPrompt('# ');
    print(await new Promise(resolve => { rl.question('Name? ', resolve); input.write('guest\\n'); }), rl.getPrompt());
    rl.close();
    const asked = new PassThrough();
    const later = promises.createInterface({ input: asked, output });
    const answer = later.question('Really? '); asked.write('yes\\n'); print(await answer);
    const controller = new AbortController();
    const never = later.question('Never? ', { signal: controller.signal });
    controller.abort('enough');
    try { await never; } catch (error) { print(error, error.cause); }
    try { await later.question('Again? ', { signal: controller.signal }); } catch (error) { print(error); }
    later.close();
    for (const direction of [-1, 0, 1]) readline.clearLine(output, direction);
    readline.clearScreenDown(output); readline.cursorTo(output, 3); readline.cursorTo(output, 3, 4);
    readline.moveCursor(output, -1, 2); print(readline.moveCursor(output, 0, 0));
    await new promises.Readline(output).cursorTo(1, 2).clearLine(0).moveCursor(1, 1).clearScreenDown().commit();
    for (const bad of [() => readline.cursorTo(output, 'x', 1), () => readline.cursorTo(output, NaN), () => readline.clearLine(output, 1, 5)]) attempt(bad);
    print(written);`,
  );
});

test('node:console writes to streams as in Node, and has the global console', async t => {
  await sameAsNode(
    t,
    `import console, { Console } from 'node:console'; import tty from 'node:tty'; import { Writable } from 'node:stream';`,
    `const out = []; const err = [];
    const into = list => new Writable({ write(chunk, encoding, done) { list.push(String(chunk)); done(); } });
    const own = new Console({ stdout: into(out), stderr: into(err), groupIndentation: 3 });
    own.log('a %s %d', 'b', 5, { c: [1] }); own.info('info'); own.debug('debug'); own.error('error'); own.warn('warn');
    own.group('outer'); own.log('in\\nside'); own.group(); own.log('deep'); own.groupEnd(); own.groupEnd(); own.groupEnd(); own.log('out');
    own.count(); own.count(); own.count('x'); own.countReset(); own.count();
    own.assert(true, 'no'); own.assert(false, 'because %s', 1); own.assert(false);
    own.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 }); own.table(5); own.dirxml('x', 1);
    const { log } = own; log('without this');
    new Console(into(out), into(err)).log('two streams'); Console(into(out)).error('one stream');
    print(out, err, typeof console.log, typeof globalThis.console.log);
    for (const bad of [() => new Console(), () => new Console({}), () => new Console({ stdout: 5 })]) attempt(bad);
    print(tty.isatty(1), tty.isatty('x'));`,
  );
});

test('node:tty and a terminal for node:readline say that a function has none', async t => {
  const [isolation] = ISOLATIONS;
  if (isolation === undefined) return;
  const lines = await inFunction(
    t,
    `${IMPORTS} import tty from 'node:tty';`,
    `attempt(() => new tty.WriteStream(1));
    attempt(() => readline.createInterface({ input: Readable.from([]), terminal: true }));
    attempt(() => readline.emitKeypressEvents(Readable.from([])));`,
    { isolation },
  );
  t.is(lines.length, 3);
  for (const line of lines) t.regex(line, /EDGE_NOT_SUPPORTED node:(tty|readline): .* is not supported in functions/);
});
