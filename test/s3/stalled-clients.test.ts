/** Clients of the S3-compatible endpoint that take an answer slowly, or not at all. */
import { setTimeout as after } from 'node:timers/promises';
import { createListener } from '../../src/s3/listener.js';
import { overBoth } from '../host/protocols.js';

const CHUNK = 256 * 1024;

/** A body of the length, and when it was closed. */
function bodyOf(chunks: number) {
  let close = (): void => {};
  const closed = new Promise<number>(resolve => {
    close = () => resolve(sent);
  });
  let sent = 0;
  const body = (async function* () {
    try {
      for (; sent < chunks; sent++) yield new Uint8Array(CHUNK);
    } finally {
      close();
    }
  })();
  return { body, closed };
}

overBoth('a client that takes nothing of an answer is cut off, and its body is closed', async (t, { listen, open }) => {
  const { body, closed } = bodyOf(1000);
  const handle = async () => ({ status: 200, headers: [], body });
  const origin = await listen(t, createListener(handle, { awaitsContinue: false, stalledMs: 200 }));
  const answer = await open(`${origin}/a`).answer;
  t.true((await closed) < 1000);
  await t.throwsAsync(async () => {
    for await (const _chunk of answer.body);
  });
});

overBoth('a client that takes an answer slowly gets all of it', async (t, { listen, open }) => {
  const { body } = bodyOf(24);
  const handle = async () => ({ status: 200, headers: [], body });
  const origin = await listen(t, createListener(handle, { awaitsContinue: false, stalledMs: 1000 }));
  const answer = await open(`${origin}/a`).answer;
  let bytes = 0;
  let next = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    if (bytes < next) continue;
    next += CHUNK;
    await after(60);
  }
  t.is(bytes, 24 * CHUNK);
});
