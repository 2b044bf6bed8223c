/** The listener in a NestJS application on Express, which serves HTTP/1.1 alone. Decorators are called as functions, which is what compilers make of them. */
import 'reflect-metadata';
import {
  type MiddlewareConsumer,
  Module,
  type NestApplicationOptions,
  type NestModule,
  RequestMethod,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import test, { type ExecutionContext } from 'ava';
import { handler, newHost } from '../new-host.js';
import { clientOf } from '../protocols.js';

const ECHO = handler(`
  const headers = new Headers([['set-cookie', 'a=1'], ['set-cookie', 'b=2']]);
  return new Response(request.body, { headers });`);
const ODD_JSON = '{ "a" :  1.0 }';

/** `behind`: as a middleware of a module, which NestJS puts behind its parsers; else before those, as what is mounted before the application begins. */
async function application(
  t: ExecutionContext,
  options: NestApplicationOptions,
  place: 'before' | 'behind',
): Promise<string> {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(ECHO) });
  class Application implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      if (place === 'behind') consumer.apply(listener).forRoutes({ path: 'plugins', method: RequestMethod.ALL });
    }
  }
  Module({})(Application);
  const app = await NestFactory.create(Application, new ExpressAdapter(), { logger: false, ...options });
  if (place === 'before') app.use('/plugins', listener);
  await app.listen(0, '127.0.0.1');
  t.teardown(() => app.close());
  return `${connect(t, await app.getUrl())}/plugins`;
}

const { connect, open, fetch } = clientOf('HTTP/1.1');

const post = (url: string): Promise<Response> =>
  fetch(url, { method: 'POST', body: ODD_JSON, headers: { 'content-type': 'application/json' } });

test('NestJS: a listener in front of its parsers gets every body, and keeps its cookies', async t => {
  const url = await application(t, {}, 'before');
  t.is(await (await post(url)).text(), ODD_JSON);
  t.deepEqual((await open(url).answer).fields.get('set-cookie'), ['a=1', 'b=2']);
});

test('NestJS with rawBody: the bytes are those that were sent, behind its parsers', async t => {
  const url = await application(t, { rawBody: true }, 'behind');
  t.is(await (await post(url)).text(), ODD_JSON);
});

test('NestJS without rawBody: a body that was parsed is refused behind its parsers', async t => {
  const url = await application(t, {}, 'behind');
  t.is((await post(url)).status, 500);
  t.is((await fetch(url)).status, 200);
});
