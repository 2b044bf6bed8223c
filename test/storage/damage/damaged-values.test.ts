/** A damaged value is an error that names its key and its file, and never other bytes. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHostOptions } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { contentOf, filesBelow, fill, flip, NAMES, type Readings, readAll, SIZES } from './damage.js';

const MODES: readonly EdgeHostOptions[] = [{ backend: 'inline' }, { backend: 'process' }];

async function copyOf(t: ExecutionContext, directory: string): Promise<string> {
  const copy = join(await temporaryDirectory(t), 'copy');
  await cp(directory, copy, { recursive: true });
  return copy;
}

/** One value is refused with both names, and all others are right. */
function isNamed(t: ExecutionContext, read: Readings, name: string, file: RegExp): void {
  t.deepEqual(read.wrong, [], name);
  t.deepEqual([...read.errors.keys()], [name]);
  const error = read.errors.get(name);
  t.is(errorCode(error), 'EDGE_STORAGE_CORRUPT', error?.message);
  t.true(error?.message.includes(name), error?.message);
  t.regex(error?.message ?? '', file);
  t.is(read.right.length, NAMES.length - 1);
}

for (const options of MODES) {
  test(`get() refuses a value of any size whose bytes were changed, names its key and file, and gives all others, backend ${options.backend}`, async t => {
    const whole = await temporaryDirectory(t);
    await fill(whole, options);
    t.is((await readAll(whole, options)).right.length, NAMES.length);
    const sizes = options.backend === 'inline' ? SIZES : [100, 65_537];
    for (const name of NAMES) {
      if (!sizes.some(size => name.endsWith(`/${size}`)) && name !== 'files/parts') continue;
      // One byte can be anywhere.
      if (name.endsWith('/1')) continue;
      const directory = await copyOf(t, whole);
      const value = contentOf(name);
      const start = Math.max(0, value.byteLength - 40);
      const needle = name === 'files/parts' ? value.subarray(100_000, 100_040) : value.subarray(start, start + 40);
      let isFlipped = false;
      for (const file of await filesBelow(directory, /\.ldb$|\.log$|^\d+$/)) {
        isFlipped ||= await flip(file, needle);
      }
      t.true(isFlipped, name);
      const isBody = value.byteLength > 65_536;
      isNamed(t, await readAll(directory, options), name, isBody ? /file "bodies\/[^"]+"/ : /database "level"/);
    }
  });
}
