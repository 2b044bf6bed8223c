/** A Fastify application in front of a listener, over either protocol. */
import type { ExecutionContext } from 'ava';
import { type FastifyInstance, fastify } from 'fastify';
import type { NodeListener } from '../../../src/index.js';
import type { ProtocolClient } from '../protocols.js';

/** `own`: Fastify's parsers. `kept`: a parser that keeps the bytes in `rawBody`. `none`: bodies are not parsed, as the documentation advises. */
export type Parsers = 'own' | 'kept' | 'none';

export interface FastifyApp {
  readonly app: FastifyInstance;
  readonly origin: string;
}

/** `hook` runs before the listener gets a request. */
export async function fastifyWith(
  t: ExecutionContext,
  { protocol, connect }: Pick<ProtocolClient, 'protocol' | 'connect'>,
  listener: NodeListener,
  parsers: Parsers,
  hook?: () => Promise<void>,
): Promise<FastifyApp> {
  // The types of an application with HTTP/2 are others, for objects with the same interface.
  const app = protocol === 'HTTP/1.1' ? fastify() : (fastify({ http2: true }) as unknown as FastifyInstance);
  if (parsers !== 'own') app.removeAllContentTypeParsers();
  if (parsers === 'none') app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  if (parsers === 'kept') {
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      Object.assign(request.raw, { rawBody: body });
      done(null, body);
    });
  }
  if (hook !== undefined) app.addHook('preHandler', hook);
  app.all('/*', (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  return { app, origin: connect(t, origin) };
}
