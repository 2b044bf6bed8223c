import test from 'ava';
import { TestRealm } from '../test-realm.js';

/** [title, body of a function, what it answers] */
const cases: readonly (readonly [string, string, unknown])[] = [
  [
    'DOMException.code is that of its name',
    "return [new DOMException('m', 'AbortError').code, new DOMException().code];",
    [20, 0],
  ],
  ['DOMException inherits from Error.prototype', 'return new DOMException() instanceof Error;', true],
  [
    'DOMException is an error for Error.isError(), where the engine has it',
    `const all = [new DOMException('m', 'DataError'), new QuotaExceededError('q'), new (class Own extends DOMException {})('o')];
     return all.map(error => [Error.isError?.(error) ?? true, error.message, Object.keys(error)]);`,
    [
      [true, 'm', []],
      [true, 'q', []],
      [true, 'o', []],
    ],
  ],
  [
    'EventTarget calls listeners once, in order, until stopped',
    `const seen = []; const target = new EventTarget();
     target.addEventListener('x', () => seen.push('bubble'));
     target.addEventListener('x', () => seen.push('capture'), true);
     target.addEventListener('x', event => { seen.push('once'); event.stopImmediatePropagation(); }, { once: true });
     target.addEventListener('x', () => seen.push('last'));
     target.dispatchEvent(new Event('x')); target.dispatchEvent(new Event('x')); return seen;`,
    ['capture', 'bubble', 'once', 'capture', 'bubble', 'last'],
  ],
  [
    'a listener is removed when its signal aborts',
    `const seen = []; const target = new EventTarget(); const controller = new AbortController();
     target.addEventListener('x', () => seen.push(1), { signal: controller.signal });
     controller.abort(); target.dispatchEvent(new Event('x')); return seen;`,
    [],
  ],
  [
    'AbortSignal.any() aborts with the reason of the first',
    `const a = new AbortController(); const b = new AbortController(); const any = AbortSignal.any([a.signal, b.signal]);
     let events = 0; any.onabort = () => events++; b.abort('b'); a.abort('a'); return [any.aborted, any.reason, events];`,
    [true, 'b', 1],
  ],
  [
    'URL has all components of what it parses',
    `const u = new URL('https://u:p@[::1]:8080/a/b?x=1#h');
     return [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash];`,
    [
      'https://u:p@[::1]:8080/a/b?x=1#h',
      'https://[::1]:8080',
      'https:',
      'u',
      'p',
      '[::1]:8080',
      '[::1]',
      '8080',
      '/a/b',
      '?x=1',
      '#h',
    ],
  ],
  ['URL keeps a path that looks like a host', "return new URL('web+demo:/.//not-a-host/').pathname;", '//not-a-host/'],
  [
    'URL and its searchParams follow each other',
    `const u = new URL('https://e.com/?a=1'); u.searchParams.append('b', 'ä &'); const first = u.href;
     u.search = '?c=3'; return [first, [...u.searchParams]];`,
    ['https://e.com/?a=1&b=%C3%A4+%26', [['c', '3']]],
  ],
  [
    'URLSearchParams takes what is no UTF-8 as U+FFFD',
    "return new URLSearchParams('a=%ff%zz+%E2%82%AC').get('a');",
    '\ufffd%zz \u20ac',
  ],
  ['TextEncoder replaces lone surrogates', "return [...new TextEncoder().encode('a\\ud800')];", [97, 239, 191, 189]],
  [
    'TextEncoder encodes characters of every length alike, in short texts and in long ones',
    `const parts = ['a', 'ä', '€', '\\u{1f600}', '\\ud800', '\\udc00', '\\ud800\\ud800\\udc00'];
     const bytes = parts.map(part => [...new TextEncoder().encode(part)]);
     return [1, 20, 200].every(times => String([...new TextEncoder().encode(parts.join('-').repeat(times))]) ===
       String(Array.from({ length: times }, () => bytes.flatMap((b, i) => (i === 0 ? b : [45, ...b]))).flat()));`,
    true,
  ],
  [
    'TextDecoder decodes GBK with the characters of four bytes',
    "return new TextDecoder('gbk').decode(Uint8Array.of(0x81, 0x35, 0xf4, 0x36, 0x80, 0xb5, 0xc4));",
    '\u1e3e\u20ac\u7684',
  ],
  [
    'TextEncoder.encodeInto() stops before a character that has no room',
    "const b = new Uint8Array(4); return [new TextEncoder().encodeInto('aä€', b), [...b]];",
    [{ read: 2, written: 3 }, [97, 195, 164, 0]],
  ],
  [
    'TextDecoder puts characters together that come in pieces',
    "const d = new TextDecoder(); return [0xf0, 0x9f, 0x98, 0x80].map(b => d.decode(Uint8Array.of(b), { stream: true })).join('') + d.decode();",
    '\u{1f600}',
  ],
  [
    'TextDecoder decodes Shift_JIS across chunks',
    "const d = new TextDecoder('sjis'); return d.decode(Uint8Array.of(0x82), { stream: true }) + d.decode(Uint8Array.of(0xa0));",
    '\u3042',
  ],
  [
    'TextDecoder knows ISO-8859-16',
    "return new TextDecoder('iso-8859-16').decode(Uint8Array.of(0xa4, 0x41));",
    '\u20acA',
  ],
  [
    'structuredClone() keeps identity and kinds',
    `const o = { m: new Map([[1, new Set([2])]]), d: new Date(5), r: /x/gi, u: new Uint16Array([1, 2]) }; o.self = o;
     const c = structuredClone(o);
     return [c !== o, c.self === c, c.m.get(1).has(2), c.d.getTime(), String(c.r), c.u[1], c.u.buffer !== o.u.buffer];`,
    [true, true, true, 5, '/x/gi', 2, true],
  ],
  [
    'structuredClone() transfers a buffer and leaves it detached',
    'const b = new ArrayBuffer(8); const c = structuredClone({ b }, { transfer: [b] }); return [b.byteLength, c.b.byteLength];',
    [0, 8],
  ],
  [
    'structuredClone() leaves the transfer list alone when it fails',
    `const b = new ArrayBuffer(8);
     try { structuredClone({ b, f() {} }, { transfer: [b] }); } catch (error) { return [error.name, b.byteLength]; }`,
    ['DataCloneError', 8],
  ],
  ['atob() and btoa() are inverse', "return [btoa('hé'), atob(btoa('hé'))];", ['aOk=', 'hé']],
  [
    'URLPattern finds groups',
    "return new URLPattern({ pathname: '/b/:id' }).exec({ pathname: '/b/7' }).pathname.groups.id;",
    '7',
  ],
  ['crypto.randomUUID() makes version 4', 'return crypto.randomUUID()[14];', '4'],
  [
    'crypto.getRandomValues() has a limit',
    'try { crypto.getRandomValues(new Uint8Array(65537)); } catch (error) { return error.name; }',
    'QuotaExceededError',
  ],
  [
    'crypto.subtle.timingSafeEqual() compares',
    'return crypto.subtle.timingSafeEqual(Uint8Array.of(1), Uint8Array.of(1));',
    true,
  ],
  [
    'performance.measure() takes marks',
    "performance.mark('a', { startTime: 1 }); return performance.measure('m', { start: 'a', end: 5 }).duration;",
    4,
  ],
];

for (const [title, body, expected] of cases) {
  test(title, t => {
    t.deepEqual(new TestRealm().run(body), expected);
  });
}

test('crypto.subtle signs and verifies, and exports what it made', async t => {
  const result = await new TestRealm().runAsync(`
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
    const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const data = new TextEncoder().encode('data');
    const hash = { name: 'ECDSA', hash: 'SHA-256' };
    const signature = await crypto.subtle.sign(hash, privateKey, data);
    const jwk = await crypto.subtle.exportKey('jwk', publicKey);
    const again = await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify']);
    return [signature instanceof ArrayBuffer, await crypto.subtle.verify(hash, again, signature, data), jwk.crv, again.extractable,
      publicKey instanceof CryptoKey, again.algorithm.namedCurve];`);
  t.deepEqual(result, [true, true, 'P-256', false, true, 'P-256']);
});

test('crypto.subtle rejects with the errors of the standard', async t => {
  const result = await new TestRealm().runAsync(`
    const names = [];
    for (const make of [
      () => crypto.subtle.digest('nothing', new Uint8Array(1)),
      () => crypto.subtle.importKey('raw', new Uint8Array(3), 'AES-GCM', false, ['encrypt']),
      () => crypto.subtle.encrypt('AES-GCM', {}, new Uint8Array(1)),
      () => crypto.subtle.generateKey('HMAC', true, ['sign']),
    ]) await make().then(() => names.push('done'), error => names.push(error.name, error instanceof Error));
    return names;`);
  t.deepEqual(result, ['NotSupportedError', true, 'DataError', true, 'TypeError', true, 'TypeError', true]);
});

test('crypto.DigestStream digests what is written', async t => {
  const result = await new TestRealm().runAsync(`
    const stream = new crypto.DigestStream('SHA-256'); const writer = stream.getWriter();
    await writer.write(new Uint8Array([1])); await writer.write('b'); await writer.close();
    return new Uint8Array(await stream.digest).join() === new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.of(1, 98))).join();`);
  t.true(result);
});

test('MessageChannel delivers clones in order', async t => {
  const result = await new TestRealm().runAsync(`
    const { port1, port2 } = new MessageChannel(); const seen = [];
    const all = new Promise(resolve => { port2.onmessage = ({ data }) => { seen.push(data.n); if (data.n === 3) resolve(); }; });
    for (const n of [1, 2, 3]) port1.postMessage({ n });
    await all; return seen;`);
  t.deepEqual(result, [1, 2, 3]);
});

test('TextDecoderStream decodes what TextEncoderStream encodes', async t => {
  const result = await new TestRealm().runAsync(`
    const source = new ReadableStream({ start(c) { c.enqueue('\\ud83d'); c.enqueue('\\ude00é'); c.close(); } });
    let text = '';
    for await (const chunk of source.pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream())) text += chunk;
    return text;`);
  t.is(result, '\u{1f600}é');
});

for (const [title, make] of [
  [
    'iterations',
    "crypto.subtle.deriveBits({ name: 'PBKDF2', salt: new Uint8Array(8), hash: 'SHA-256', iterations: 1_000_001 }, key, 256)",
  ],
  [
    'length',
    "crypto.subtle.deriveBits({ name: 'PBKDF2', salt: new Uint8Array(8), hash: 'SHA-256', iterations: 1 }, key, 2 ** 31)",
  ],
  [
    'modulusLength',
    "crypto.subtle.generateKey({ name: 'RSA-PSS', hash: 'SHA-256', modulusLength: 16384, publicExponent: Uint8Array.of(1, 0, 1) }, false, ['sign'])",
  ],
]) {
  test(`crypto.subtle refuses work of more ${title} than is allowed`, async t => {
    const message = await new TestRealm().runAsync(`
      const key = await crypto.subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits']);
      return ${make}.catch(error => error.name + ': ' + error.message);`);
    t.regex(String(message), new RegExp(`^OperationError: The ${title} is \\d+, at most \\d+ is allowed`));
  });
}
