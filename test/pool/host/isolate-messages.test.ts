/** What an isolate that was taken over may write where the host expects a message. */
import test from 'ava';
import fc from 'fast-check';
import { parseHandlerFailure, parseLoadAnswer, parseUsage } from '../../../src/pool/host/isolate-messages.js';
import { ProtocolError } from '../../../src/protocol/frames/protocol-error.js';

test('parseLoadAnswer() takes the handlers that there are, in their own order, once each', t => {
  const answer = { kind: 'loaded', handlers: ['queue', 'fetch', 'fetch', 'toString', 1, null], startupTimeMs: 2.5 };
  t.deepEqual(parseLoadAnswer(JSON.stringify(answer)), {
    kind: 'loaded',
    handlers: ['fetch', 'queue'],
    startupTimeMs: 2.5,
  });
});

test('parseLoadAnswer() takes a failure with a code that loading can have, and text of bounded length', t => {
  const long = 'x'.repeat(100_000);
  const failure = { code: 'EDGE_SCRIPT_THREW', name: '', message: long, stack: 7, line: 3, column: '4', extra: long };
  t.deepEqual(parseLoadAnswer(JSON.stringify({ kind: 'failed', failure })), {
    kind: 'failed',
    failure: { code: 'EDGE_SCRIPT_THREW', name: 'Error', message: 'x'.repeat(64 * 1024), stack: '', line: 3 },
  });
});

for (const text of [
  '',
  'loaded',
  'null',
  '[]',
  '"loaded"',
  '{}',
  '{"kind":"loaded"}',
  '{"kind":"loaded","handlers":"fetch","startupTimeMs":1}',
  '{"kind":"loaded","handlers":[],"startupTimeMs":-1}',
  '{"kind":"loaded","handlers":[],"startupTimeMs":"1"}',
  '{"kind":"failed"}',
  '{"kind":"failed","failure":[]}',
  '{"kind":"failed","failure":{"code":"EDGE_CPU_LIMIT"}}',
  '{"kind":"failed","failure":{"code":"EDGE_INTERNAL"}}',
  '{"__proto__":{"kind":"loaded","handlers":[],"startupTimeMs":1}}',
]) {
  test(`parseLoadAnswer() throws ProtocolError for ${JSON.stringify(text)}`, t => {
    t.throws(() => parseLoadAnswer(text), { instanceOf: ProtocolError });
  });
}

test('parseHandlerFailure() knows two codes, and takes every other for an exception of the handler', t => {
  const codeOf = (code: unknown): string => parseHandlerFailure(JSON.stringify({ code })).code;
  t.is(codeOf('EDGE_NO_RESPONSE'), 'EDGE_NO_RESPONSE');
  for (const code of ['EDGE_HANDLER_THREW', 'EDGE_CPU_LIMIT', 'EDGE_INTERNAL', 5, null])
    t.is(codeOf(code), 'EDGE_HANDLER_THREW');
});

test('parseUsage() reads who was in a turn and what it used, and leaves the text', t => {
  t.deepEqual(parseUsage('12 34.5 678\nout of memory'), {
    invocation: 12,
    usage: { cpuMs: 34.5, memoryBytes: 678 },
    detail: 'out of memory',
  });
});

test('parseUsage() takes everything for text that is not exactly so', t => {
  for (const text of [
    '12 34\n',
    '-1 2 3\n',
    '1 2 3',
    '1  2 3\n',
    '1e9 2 3\n',
    '12345678901 2 3\n',
    '1 2.3456 3\n',
    '',
  ]) {
    const { invocation, usage } = parseUsage(text);
    t.deepEqual([invocation, usage], [0, { cpuMs: 0, memoryBytes: 0 }], JSON.stringify(text));
  }
});

test('parsers answer or throw ProtocolError, whatever comes, and their numbers are finite', t => {
  const texts = fc.oneof(
    fc.string(),
    fc.json(),
    fc.object().map(value => JSON.stringify(value)),
  );
  const check = (text: string): void => {
    for (const parse of [parseLoadAnswer, parseHandlerFailure]) {
      try {
        parse(text);
      } catch (error) {
        t.true(error instanceof ProtocolError, String(error));
      }
    }
    const { invocation, usage } = parseUsage(text);
    t.true([invocation, usage.cpuMs, usage.memoryBytes].every(Number.isFinite));
  };
  fc.assert(fc.property(texts, check), { numRuns: 500 });
});
