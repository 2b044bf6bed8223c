import assert from 'node:assert/strict';
import { EdgeHost } from 'edgehost';
import { fastify } from 'fastify';
import { checkEcho, checkRefusal, ECHO } from './checks.mjs';

const host = new EdgeHost({ storage: ':memory:' });
const fn = await host.load(ECHO);
const listener = host.listener({ function: fn });
const app = fastify();
const hand = (request, reply) => {
  reply.hijack();
  listener(request.raw, reply.raw);
};
// With the parsers of Fastify the body has been read.
app.all('/parsed/*', hand);
app.register(async scope => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  scope.all('/raw/*', hand);
});
app.get('/call', () => fn.fetch('https://plugin/from-a-route'));
const origin = await app.listen({ host: '127.0.0.1', port: 0 });
await checkEcho(`${origin}/raw/a`);
await checkRefusal(`${origin}/parsed/a`);
assert.equal(await (await fetch(`${origin}/parsed/a`)).text(), 'no body');
assert.equal((await fetch(`${origin}/call`)).headers.get('x-path'), '/from-a-route');
await app.close();
await host.close();
console.log('ok');
