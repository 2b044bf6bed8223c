/** What a folder under development may have in it, by accident or on purpose: the server goes on with everything else. */
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { answering, folderOf, Program, put, replace, textOf } from './program.js';

const DEV = ['dev', '--port', '0', '--json'];

test('edgehost dev serves a folder with odd names, links in a circle and to nothing, and folders named as scripts', async t => {
  t.timeout(240_000);
  const odd = ['a b', "quote'", 'new\nline', 'esc\u001b[31m', 'constructor', 'x%2f..', 'n'.repeat(200)];
  const files = Object.fromEntries(odd.map(name => [`${name}/index.js`, answering('odd')]));
  const cwd = await folderOf(t, { 'ok.js': answering('ok'), ...files });
  await mkdir(join(cwd, 'folder.js'));
  await symlink(cwd, join(cwd, 'circle'));
  await symlink(join(cwd, 'nothing.js'), join(cwd, 'dangling.js'));
  const dev = new Program(t, DEV, { cwd });
  const { url, functions } = await dev.event('listening');
  const names = (Array.isArray(functions) ? functions : []).map(({ name }) => name).sort();
  const expected = ['a-b', 'constructor', 'esc-31m', 'n'.repeat(63), 'new-line', 'ok', 'quote-', 'x-2f..'];
  t.deepEqual(names, expected.sort());
  t.is(await textOf(`${url}/ok`), 'ok');
  for (const name of expected) t.regex(await textOf(`${url}/${name}/`), /^o(?:dd|k)$/);
  for (const path of ['/..%2f..%2fok.js', '/%2e%2e/ok', '/__proto__', '/circle', '/dangling', '/folder'])
    t.is((await fetch(`${url}${path}`)).status, path === '/%2e%2e/ok' ? 200 : 404, path);
  const { code } = await dev.stop();
  t.is(code, 0);
});

test('edgehost dev says which two functions of a folder have one name, and serves neither in place of the other', async t => {
  const cwd = await folderOf(t, { 'a b/index.js': answering('1'), 'a-b/index.js': answering('2') });
  const dev = new Program(t, DEV, { cwd });
  const { code, err } = await dev.ended();
  t.is(code, 2);
  t.regex(err, /Two functions are named "a-b": .*a b\/index\.js and .*a-b\/index\.js/);
});

test('edgehost dev goes on while files and folders come and go faster than they can be read', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { 'ok.js': answering('0') });
  const dev = new Program(t, [...DEV, '.'], { cwd });
  const url = await dev.url();
  for (let round = 0; round < 100; round++) {
    const script = join(cwd, `script${round % 10}.js`);
    const folder = join(cwd, `folder${round % 5}`);
    await put(script, answering('x'));
    await put(join(folder, 'index.js'), answering('x'));
    if (round % 2 === 0) await rm(script);
    if (round % 3 === 0) await rm(folder, { recursive: true });
  }
  await put(join(cwd, 'ok.js'), answering('changed'));
  await put(join(cwd, 'last.js'), answering('last'));
  await dev.event('loaded', { function: 'last' });
  // They are loaded side by side. A change that never comes ends the test by its timeout.
  while ((await textOf(`${url}/ok`)) !== 'changed') await delay(50);
  t.is(await textOf(`${url}/last`), 'last');
  const { code, err } = await dev.stop();
  t.deepEqual([code, err], [0, '']);
});

test('edgehost dev refuses a script past the limits, and goes on with the version before', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { 'index.ts': 'export default { fetch: (): Response => new Response("small") };' });
  const dev = new Program(t, [...DEV, '--plan', 'free'], { cwd });
  const url = await dev.url();
  t.is(await textOf(url), 'small');
  const random = Array.from({ length: 300_000 }, (_, i) => ((i * 2_654_435_761) % 4_294_967_291).toString(36)).join();
  await replace(
    join(cwd, 'index.ts'),
    `const text: string = ${JSON.stringify(random.repeat(5))};\nexport default { fetch: () => new Response(text) };`,
  );
  t.like(await dev.event('error'), { code: 'EDGE_SCRIPT_TOO_LARGE', isServing: true });
  t.is(await textOf(url), 'small');
  t.is((await dev.stop()).code, 0);
});
