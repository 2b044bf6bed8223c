import { attack } from '../attack.js';

export default attack({
  tries: 'to read paths of the host from stacks',
  rules: ['R4'],
  body: String.raw`
const texts = [];
for (const code of [() => new URL('x'), () => { throw new Error('x'); }, () => null.x, () => structuredClone(() => {}), () => new Response(1, { status: 1 }), () => atob('%')]) try { code(); } catch (error) { texts.push(String(error.stack), error.message); }
try { await fetch('http://127.0.0.1:1/'); } catch (error) { texts.push(String(error.stack), error.message, String(error.cause)); }
for (const text of texts) if (/node_modules|node:internal|\/dist\/|edgehost:/.test(text)) fail(text);
`,
});
