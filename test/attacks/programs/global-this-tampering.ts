import { attack } from '../attack.js';

export default attack({
  tries: "to replace the global object's own properties and prototype",
  rules: ['R1'],
  body: `
for (const key of Reflect.ownKeys(globalThis)) if (!['Object', 'Reflect', 'Response', 'Promise'].includes(String(key))) attempt(() => { Object.defineProperty(globalThis, key, { get() { keep(this); return keep; }, configurable: true }); });
attempt(() => Object.freeze(globalThis));
attempt(() => { self.self = 1; });
`,
});
