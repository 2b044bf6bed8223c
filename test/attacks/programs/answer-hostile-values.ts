import { attack } from '../attack.js';

export default attack({
  tries: 'to answer with every kind of value',
  rules: ['R9', 'R10'],
  body: `
for (const value of [undefined, null, Symbol('x'), 1n, new Proxy({}, {}), Object.create(Response.prototype), new Proxy(new Response('x'), {}), Response.error(), class extends Response {}])
  await settle(() => new Response(value?.toString?.call?.(value)));
keep(Object.create(Response.prototype));
for (const key of ['status', 'body', 'headers', 'ok', 'statusText', 'url']) attempt(() => Object.create(Response.prototype)[key]);
await settle(() => Response.prototype.text.call(request));
await settle(() => Response.prototype.clone.call({}));
`,
});
