/** What functions that ask for objects and do not read them make the host keep open. */
import { readdir, readlink } from 'node:fs/promises';
import { threadQueue } from '../../src/quotas/host/threads.js';
import { MAX_IDLE_FILES } from '../../src/storage/blobs/file-blob-reader.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { handler, ISOLATIONS, newHost } from '../host/new-host.js';
import { onLinux } from '../needs.js';

/** Six objects, as many as an invocation has connections, and an answer that does not end. */
const HOARD = handler(`
  const objects = await Promise.all([0, 1, 2, 3, 4, 5].map(() => env.FILES.get('large')));
  return new Response(new ReadableStream({
    start(controller) { controller.enqueue(new TextEncoder().encode(String(objects.length))); this.objects = objects; },
  }));
`);
const REQUESTS = 40;

async function openBodies(directory: string): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter(link => link.startsWith(directory) && link.includes('/bodies/')).length;
}

for (const isolation of ISOLATIONS) {
  onLinux(`objects that are not read hold no file open, however many are asked for (${isolation})`, async t => {
    const directory = await temporaryDirectory(t);
    const host = newHost(t, { storage: directory, isolation });
    await host.bucket('files').put('large', new Uint8Array(2_000_000));
    const fn = await host.load(HOARD, { buckets: { FILES: 'files' } });
    const readers = await Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        const reader = (await fn.fetch('http://x/')).body?.getReader();
        t.is(new TextDecoder().decode((await reader?.read())?.value), '6');
        return reader;
      }),
    );
    // Beside those that rest, some are being read or closed at this moment.
    const open = await openBodies(directory);
    t.true(open <= MAX_IDLE_FILES + 2 * threadQueue.concurrency, `${open} files are open`);
    while ((await openBodies(directory)) > MAX_IDLE_FILES) await new Promise(resolve => setImmediate(resolve));
    // Others are served meanwhile.
    t.is((await (await host.bucket('files').get('large'))?.arrayBuffer())?.byteLength, 2_000_000);
    await Promise.all(readers.map(reader => reader?.cancel()));
    while ((await openBodies(directory)) > 0) await new Promise(resolve => setImmediate(resolve));
    t.pass();
  });
}
