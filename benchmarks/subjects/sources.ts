/** The functions that are measured, as their authors would write them. */

/** Answers any request with a short text. */
export const TEXT_FUNCTION = `export default {
  fetch() {
    return new Response('Hello from a function');
  },
};
`;

/** A real-looking function of about `kilobytes` KB: a router, some helpers, tables of data. `tag` makes each text its own. */
export function largeFunction(kilobytes: number, tag = ''): string {
  const parts = [`// ${tag}\nconst routes = new Map();\n`];
  for (let at = 0, length = 0; length < kilobytes * 1000 - 400; at++) {
    const part = `
/** Handler ${at}: checks its input and answers with what it was given. */
function handler${at}(request, parameters) {
  const { searchParams } = new URL(request.url);
  const limit = Math.min(100, Number(searchParams.get('limit') ?? '20'));
  if (Number.isNaN(limit)) return new Response('The limit is no number', { status: 400 });
  const rows = Array.from({ length: limit }, (_, row) => ({ row, name: 'item ' + row, of: ${at}, ...parameters }));
  return Response.json({ rows, next: limit === 100 ? '/handler/${at}?page=2' : null });
}
routes.set('/handler/${at}', handler${at});
`;
    parts.push(part);
    length += part.length;
  }
  parts.push(`
export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    const handler = routes.get(pathname);
    return handler === undefined ? new Response('Hello from a function') : handler(request, {});
  },
};
`);
  return parts.join('');
}
