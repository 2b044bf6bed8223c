import test from 'ava';
import { sameAsNode } from './same-as-node.js';

test('util answers as Node', async t => {
  await sameAsNode(
    t,
    "import util from 'node:util'; import sys from 'sys'; import types from 'node:util/types';",
    `print(sys.inspect === util.inspect, util.types === types, util.TextEncoder === TextEncoder);
     print(util.format('%s %d %i %j %o %%', 'a', 1.5, 2.7, { b: 1 }, [1], 'rest'), util.inspect({ a: { b: { c: { d: 1 } } } }, { depth: 0 }));
     print(util.inspect(new Map([[1, { a: new Set(['x']) }]])), util.inspect(new (class Foo { x = 1; [util.inspect.custom]() { return 'own'; } })()));
     const read = (a, b, callback) => setTimeout(() => callback(a > 1 ? new Error('high') : null, a + b), 1);
     print(await util.promisify(read)(1, 2), await util.promisify(read)(2, 2).catch(error => error));
     print(util.promisify(read).name, util.promisify(read) !== read, await util.promisify(setTimeout)(1, 'slept'));
     const own = () => {}; own[util.promisify.custom] = () => 'mine';
     print(util.promisify(own)(), util.promisify.custom);
     attempt(() => util.promisify(1));
     const back = util.callbackify(async x => { if (x === undefined) throw null; return x * 2; });
     print(await new Promise(done => back(4, (error, value) => done([error, value]))), back.name, back.length);
     print(await new Promise(done => back(undefined, error => done([error.code, error.message, error.reason]))));
     function Parent() {} Parent.prototype.hello = () => 'hi'; function Child() {}
     util.inherits(Child, Parent);
     print(new Child().hello(), Child.super_ === Parent, Object.keys(Child));
     attempt(() => util.inherits(null, Parent)); attempt(() => util.inherits(Child, {})); attempt(() => util.inherits(Child, null));
     const old = util.deprecate(function old(x) { return this === undefined ? x : x + 1; }, 'old is old', 'DEP_TEST');
     print(old(1), typeof old.prototype);
     print(util.debuglog('nothing').enabled, util.debuglog('nothing')('x'));
     print(util.getSystemErrorName(-2), util.getSystemErrorMap().get(-13));
     attempt(() => util.getSystemErrorName(2)); attempt(() => util.getSystemErrorName('x'));
     print(util.styleText('red', 'x', { validateStream: false }), util.styleText(['bold', 'underline'], 'y', { validateStream: false }), util.stripVTControlCharacters('\\u001b[31mx\\u001b[39m'));
     attempt(() => { try { util.styleText('nothing', 'x'); } catch (error) { return error.code; } });
     print(util.toUSVString('a\\ud800b'), util.isArray([]), util.isRegExp(/x/), util.isPrimitive(1), util.isError(new Error('x')));
     const controller = util.transferableAbortController(); const signal = util.transferableAbortSignal(controller.signal);
     const over = util.aborted(signal, {}); controller.abort(); await over; print(signal instanceof AbortSignal);
     print(util._extend({ a: 1 }, { b: 2 }), util._extend({ a: 1 }, 'x'));`,
  );
});

test('isDeepStrictEqual() and the assertions of deep equality compare as Node', async t => {
  await sameAsNode(
    t,
    "import util from 'node:util'; import assert, { deepEqual, deepStrictEqual } from 'node:assert';",
    `const loop = n => { const o = { n }; o.self = o; return o; };
     class A { x = 1; } class B { x = 1; }
     const pairs = [[1, 1], [1, '1'], [NaN, NaN], [0, -0], [null, undefined], [{ a: 1, b: 2 }, { b: 2, a: 1 }], [[1, 2], [2, 1]], [[1, , 2], [1, undefined, 2]],
       [new Date(1), new Date(1)], [new Date(1), new Date(2)], [/a/g, /a/g], [/a/g, /a/i], [new Set([1, { a: 1 }]), new Set([{ a: 1 }, 1])],
       [new Set([1]), new Set(['1'])], [new Map([[{ k: 1 }, 2]]), new Map([[{ k: 1 }, 2]])], [new Map([[1, 2]]), new Map([[1, '2']])],
       [new A(), new B()], [new A(), new A()], [loop(1), loop(1)], [loop(1), loop(2)], [new Uint8Array([1]), new Uint8Array([1])],
       [new Uint8Array([1]), new Int8Array([1])], [new Error('a'), new Error('a')], [new Error('a'), new TypeError('a')], [Object(1), Object(1)],
       [Object(1), 1], ['a', Object('a')], [{ a: undefined }, {}], [{ [Symbol.for('s')]: 1 }, { [Symbol.for('s')]: 2 }], [[], {}], [new ArrayBuffer(2), new ArrayBuffer(2)],
       [{ __proto__: null, a: 1 }, { a: 1 }], [Symbol.for('a'), Symbol.for('a')], [() => {}, () => {}], [1n, 1n], [1n, 1]];
     const holds = act => { try { act(); return true; } catch (error) { return error.code; } };
     for (const [a, b] of pairs) {
       print(util.isDeepStrictEqual(a, b), holds(() => deepEqual(a, b)), holds(() => deepStrictEqual(a, b)), holds(() => assert.notDeepEqual(a, b)));
     }`,
  );
});

test('assert answers as Node', async t => {
  await sameAsNode(
    t,
    "import assert from 'node:assert'; import strict from 'node:assert/strict';",
    `print(assert.strict === strict, strict.equal === assert.strictEqual, typeof assert);
     const shown = act => { try { print('passed', act()); } catch (error) { print(error.name, error.code, error.message, error.generatedMessage, error.operator); } };
     for (const check of [assert, assert.ok, strict]) { shown(() => check(true)); shown(() => check(0, 'own text')); }
     shown(() => assert.equal(1, '1')); shown(() => assert.equal(1, 2)); shown(() => assert.notEqual(1, 1)); shown(() => assert.strictEqual(1, 2));
     shown(() => assert.strictEqual(1)); shown(() => assert.notStrictEqual(1, 1));
     shown(() => assert.deepEqual({ a: 1 }, { a: 2 }, 'own')); shown(() => assert.strictEqual(1, 2, new TypeError('mine')));
     shown(() => assert.throws(() => { throw new TypeError('bad'); }, TypeError)); shown(() => assert.throws(() => {}));
     shown(() => assert.throws(() => { throw new TypeError('bad'); }, /bad/)); shown(() => assert.throws(() => { throw new TypeError('bad'); }, /good/));
     shown(() => assert.throws(() => { throw new Error('bad'); }, TypeError)); shown(() => assert.throws(() => { throw new Error('bad'); }, 'bad'));
     shown(() => assert.throws(() => { throw new Error('bad'); }, { message: 'bad', name: 'Error' })); shown(() => assert.throws('x'));
     shown(() => assert.throws(() => { throw new Error('bad'); }, () => false)); shown(() => assert.throws(() => {}, TypeError, 'own'));
     shown(() => assert.throws(() => { throw new Error('bad'); }, {})); shown(() => assert.throws(() => {}, 1));
     shown(() => assert.doesNotThrow(() => { throw new Error('bad'); }, 'own')); shown(() => assert.doesNotThrow(() => {}));
     print(await assert.rejects(Promise.reject(new Error('a')), /a/), await assert.rejects(Promise.resolve(1)).catch(error => error));
     print(await assert.rejects(() => 1).catch(error => error), await assert.doesNotReject(Promise.reject(new Error('no'))).catch(error => error));
     shown(() => assert.match('abc', /b/)); shown(() => assert.match('abc', /x/)); shown(() => assert.doesNotMatch('abc', /b/)); shown(() => assert.match(1, /x/));
     shown(() => assert.ifError(null)); shown(() => assert.ifError(new Error('oops'))); shown(() => assert.fail()); shown(() => assert.fail('own'));
     const error = new assert.AssertionError({ actual: 1, expected: 2, operator: 'strictEqual' });
     print(error instanceof Error, error.name, Object.keys(error).sort(), String(error), error.message);
     attempt(() => new assert.AssertionError('x'));`,
  );
});

test('parseArgs(), parseEnv(), MIMEType and os answer as Node', async t => {
  await sameAsNode(
    t,
    "import { MIMEParams, MIMEType, parseArgs, parseEnv } from 'node:util'; import os, { EOL, constants } from 'node:os'; import all from 'node:constants';",
    `const options = { flag: { type: 'boolean', short: 'f' }, name: { type: 'string', default: 'x' }, many: { type: 'string', multiple: true, short: 'm' } };
     print(parseArgs({ args: ['-f', '--name=a', '-mb', '--many', 'c', 'rest'], options, allowPositionals: true }));
     print(parseArgs({ args: [], options }), parseArgs({ args: ['--', 'x'], allowPositionals: true, tokens: true }));
     attempt(() => parseArgs({ args: ['--unknown'], options })); attempt(() => parseArgs({ args: ['--name'], options })); attempt(() => parseArgs({ args: ['x'], options }));
     print(parseEnv('A=1\\n# no\\nB = "two words" # no\\nC=\\'x#y\\'\\nD=\\nE="a\\\\nb"\\nF=plain # no\\nexport G=h\\n'));
     const type = new MIMEType('Text/HTML; charset=UTF-8; q="a b"');
     print(String(type), type.type, type.subtype, type.essence, type.params.get('charset'), [...type.params]);
     type.type = 'application'; type.params.set('x', 'y z'); type.params.delete('q'); print(type, String(type.params), type.params.has('none'));
     for (const text of ['', 'text', 'te xt/html', 'text/', 'text/ht ml']) attempt(() => new MIMEType(text));
     attempt(() => type.params.set('', 'x')); attempt(() => { type.subtype = 'a b'; }); print([...new MIMEParams()]);
     print(EOL, os.devNull, constants.signals.SIGTERM, constants.errno.ENOENT, all.ENOENT, os.type(), os.endianness(), \`\${os.platform}\`);`,
  );
});
