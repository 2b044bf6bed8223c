/** Puts, uses, deletes and purges until it is killed, and says on stdout what was acknowledged: `number`. */
import { writeSync } from 'node:fs';
import { bytesOf, kept, openCachesAt, PUT } from '../open-caches.js';

const [directory = ''] = process.argv.slice(2);
const { shared } = await openCachesAt(directory);
const engine = shared.of('acme');
const SIZES = [100, 5000, 50_000, 70_000, 300_000];
let count = 0;

async function work(worker: number): Promise<void> {
  for (;;) {
    const number = count++;
    const url = `http://x/${worker}/${number % 7}`;
    const size = SIZES[number % SIZES.length] ?? 0;
    if (number % 11 === 10) await engine.delete('d', url);
    else if (number % 97 === 96) await engine.purge(number % 2 === 0 ? { tags: [`t${worker}`] } : { everything: true });
    else if (number % 3 === 2) {
      const hit = await engine.match({ cache: 'd', url, headers: [] });
      if (hit.kind === 'hit') await bytesOf(hit.body);
    } else {
      const response = kept(url, {
        tags: [`t${worker}`],
        headers: ['x-size', `${size}`],
        freshMs: number % 5 === 0 ? 5 : 60_000,
      });
      await engine.put(response, Buffer.alloc(size, size % 251), { ...PUT, cacheBytes: 3_000_000 });
    }
    // Written at once and whole: what was acknowledged must be known after the kill.
    writeSync(1, `${number}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)));
