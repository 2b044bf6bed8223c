import assert from 'node:assert/strict';
import { once } from 'node:events';
import { EdgeHost } from 'edgehost';
import Koa from 'koa';
import { checkEcho, ECHO } from './checks.mjs';

const host = new EdgeHost({ storage: ':memory:' });
const listener = host.listener({ function: await host.load(ECHO) });
const app = new Koa();
app.use(async (context, next) => {
  if (!context.path.startsWith('/plugins/')) return next();
  context.respond = false;
  listener(context.req, context.res);
});
app.use(context => {
  context.body = 'the application';
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
await checkEcho(`${origin}/plugins/a`);
assert.equal(await (await fetch(origin)).text(), 'the application');
server.close();
server.closeAllConnections();
await host.close();
console.log('ok');
