/** What a function sees of requests, responses, headers and URLs in its log, and what it is called. */
import test from 'ava';
import { ISOLATIONS, newHost, nextLog, textOf } from './new-host.js';

for (const isolation of ISOLATIONS) {
  test(`console.log() shows requests, responses, headers and URLs, and calls nothing of the function (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      `export default { fetch(request) {
      for (const [owner, name] of [[Request, 'url'], [Response, 'status'], [URL, 'href']])
        Object.defineProperty(owner.prototype, name, { get() { throw new Error('called'); } });
      console.log(request, new Response('x', { status: 201, headers: { a: 'b' } }), new URL('https://y/p?q#h'),
        new Headers(Array.from({ length: 150 }, (_, n) => ['x-' + n, 'v'])), Object.create(URL.prototype));
      return new Response('');
    } }`,
      { name: 'logs' },
    );
    const logged = nextLog(host, 'logs');
    await textOf(fn.fetch('https://x/path', { method: 'POST', headers: { 'x-one': '1' }, body: 'b' }));
    const text = (await logged).replace(/\s+/g, ' ');
    t.regex(text, /Request \{ method: 'POST', url: 'https:\/\/x\/path', headers: Headers \{.*'x-one': '1'/);
    t.regex(text, /Response \{ status: 201, statusText: '', url: '', headers: Headers \{.*a: 'b'/);
    t.regex(text, /URL \{ href: 'https:\/\/y\/p\?q#h', origin: 'https:\/\/y', protocol: 'https:'/);
    t.regex(text, /… 50 more items/);
  });

  test(`navigator.userAgent is that of the hosted platform with the flag global_navigator (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const source =
      'const early = navigator.userAgent; export default { fetch: () => Response.json([early, navigator.userAgent]) };';
    const own = await host.load(source, { name: 'own' });
    const hosted = await host.load(source, { name: 'hosted', compatibilityFlags: ['global_navigator'] });
    t.is(await textOf(own.fetch('https://x/')), '["EdgeHost","EdgeHost"]');
    t.is(await textOf(hosted.fetch('https://x/')), '["Cloudflare-Workers","Cloudflare-Workers"]');
  });
}
