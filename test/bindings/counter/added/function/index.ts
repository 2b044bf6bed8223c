/** A function with a counter, checked by the types that the package declares for functions. */

interface Env {
  readonly HITS: Counter;
}

const ROUTES: Readonly<Record<string, (counter: Counter, request: Request) => Promise<unknown>>> = {
  '/add': counter => counter.add(2),
  '/bytes': (counter, { body }) => counter.addBytes(body ?? ''),
  '/lines': async counter => (await new Response(await counter.lines()).text()).length,
  '/over': counter =>
    counter.add(2 ** 60).catch((error: unknown) => (error instanceof Error && 'code' in error ? error.code : error)),
};

export default {
  async fetch(request, { HITS }) {
    return Response.json(await ROUTES[new URL(request.url).pathname]?.(HITS, request));
  },
} satisfies ExportedHandler<Env>;
