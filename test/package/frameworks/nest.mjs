/** Decorators are called as functions, which is what compilers make of them. */
import 'reflect-metadata';
import { Module, RequestMethod } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EdgeHost } from 'edgehost';
import { checkEcho, checkJson, checkRefusal, ECHO } from './checks.mjs';

const host = new EdgeHost({ storage: ':memory:' });
const listener = host.listener({ function: await host.load(ECHO) });

async function start({ rawBody }) {
  // Middleware of a module runs behind the parsers of Nest, app.use() before it begins in front of them.
  class Application {
    configure(consumer) {
      consumer.apply(listener).forRoutes({ path: 'behind/*path', method: RequestMethod.ALL });
    }
  }
  Module({})(Application);
  const app = await NestFactory.create(Application, { logger: false, rawBody });
  app.use('/before', listener);
  await app.listen(0, '127.0.0.1');
  return { app, origin: await app.getUrl() };
}

const kept = await start({ rawBody: true });
await checkEcho(`${kept.origin}/before/a`);
await checkJson(`${kept.origin}/behind/a`);
await kept.app.close();
const parsed = await start({ rawBody: false });
await checkEcho(`${parsed.origin}/before/a`);
await checkRefusal(`${parsed.origin}/behind/a`);
await parsed.app.close();
await host.close();
console.log('ok');
