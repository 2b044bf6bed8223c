import { attack } from '../attack.js';

export default attack({
  tries: 'to overflow the stack inside promise jobs and async functions',
  rules: ['R5', 'R9'],
  body: `
const dive = async depth => { try { await null; return dive2(depth); } catch (error) { keep(error); throw error; } };
const dive2 = depth => { try { return dive2(depth + 1); } catch (error) { keep(error); return crypto.subtle.digest('SHA-256', new Uint8Array(8)); } };
await settle(() => dive(0));
await settle(() => new Promise(() => { const f = () => f(); f(); }));
await settle(() => new Promise(resolve => resolve({ get then() { const f = () => f(); f(); } })));
`,
});
