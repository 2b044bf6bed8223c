import { attack } from '../attack.js';

export default attack({
  tries: 'Error.captureStackTrace on objects of its own',
  rules: ['R4'],
  body: `
const target = {};
attempt(() => Error.captureStackTrace(target));
keep(target.stack);
const frozen = Object.freeze({});
attempt(() => Error.captureStackTrace(frozen));
attempt(() => Error.captureStackTrace(new Proxy({}, { defineProperty(t, k, d) { keep(d); return Reflect.defineProperty(t, k, d); } })));
attempt(() => Error.captureStackTrace(globalThis));
attempt(() => Error.captureStackTrace(1));
attempt(() => Reflect.construct(Error, ['x'], Object));
keep(Object.getOwnPropertyDescriptors(Error));
`,
});
