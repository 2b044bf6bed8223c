import { attack } from '../attack.js';

export default attack({
  tries: 'to split headers',
  rules: ['R25'],
  body: String.raw`
for (const text of ['a\r\nset-cookie: x', 'a\nb', 'a\0b', '\u2028', '\r', 'a\u010a']) {
  let accepted = [];
  for (const code of [() => new Headers({ x: text }), () => new Headers({ [text]: 'x' }), () => new Response('x', { statusText: text }), () => new Response('x', { headers: { x: text } }), () => new Request('https://x.test', { method: text }), () => new Headers().append('x', text), () => Response.redirect('https://x.test/' + text)]) {
    try { const value = keep(code()); const headers = value?.headers ?? value; for (const [name, content] of headers ?? []) if (/[\r\n\0]/.test(name + content)) fail(JSON.stringify(text) + String(code)); if (/[\r\n\0]/.test((value?.statusText ?? '') + (value?.method ?? ''))) fail(String(code)); } catch (error) { keep(error); }
  }
}
`,
});
