import test from 'ava';
import { localFetch, nextChain } from '../../../src/host/ingress/local-fetch.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { hostileIsolate } from '../bodies/hostile-isolate.js';

test('the whole answer of another function is counted to the caller until it is read', async t => {
  const { runner } = await hostileIsolate(t, (writer, id) => {
    writer.reply(id, 200, 'OK', false, Buffer.alloc(1000), true);
  });
  let bytes = 0;
  const work = {
    ...OWN_WORK,
    countBytes(count: number) {
      bytes += count;
    },
  };
  const request = { account: 'a', function: 'f', method: 'GET', url: new URL('http://x/'), headers: [], body: null };
  const { signal } = new AbortController();
  const hop = { ...request, contentLength: undefined, signal, work };
  const answer = await localFetch({ target: runner, mode: 'fail-closed' }, hop, nextChain(undefined));
  t.is(bytes, 1000);
  let read = 0;
  for await (const piece of answer?.body ?? []) read += Buffer.byteLength(piece);
  t.is(read, 1000);
  await new Promise(resolve => setImmediate(resolve));
  t.is(bytes, 0);
});
