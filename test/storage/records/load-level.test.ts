import process from 'node:process';
import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { handler } from '../../host/new-host.js';

// As on a machine for which there is no build. What was imported above has loaded nothing native: the second test would fail.
process.dlopen = () => {
  throw new Error('No native build was found for /some/path');
};

test('storage in memory works when LevelDB has no native build for the machine', async t => {
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close({ drainMs: 0 }));
  const fn = await host.load(handler('return new Response(await (await env.FILES.get("key")).text())'), {
    buckets: { FILES: 'files' },
  });
  await host.bucket('files').put('key', 'kept');
  t.is(await (await fn.fetch('http://x/')).text(), 'kept');
});

test('a storage directory is refused with what to do when LevelDB has no native build for the machine', async t => {
  const directory = await temporaryDirectory(t);
  const host = new EdgeHost({ storage: directory });
  t.teardown(() => host.close({ drainMs: 0 }));
  const expected = {
    code: 'EDGE_INTERNAL',
    message: new RegExp(
      `"classic-level" cannot be loaded \\(${process.platform}-.*npm rebuild classic-level.*':memory:'`,
    ),
  };
  for (const attempt of [host.bucket('files').get('key'), Storage.repair(directory)]) {
    const error = await t.throwsAsync(attempt, expected);
    t.false(error?.message.includes('/some/path'));
  }
});
