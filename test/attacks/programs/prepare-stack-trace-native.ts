import { attack } from '../attack.js';

export default attack({
  tries: 'to give every Error constructor it can reach a prepareStackTrace',
  rules: ['R4'],
  body: `
const natives = new Set([Error, Object.getPrototypeOf(TypeError), TypeError, RangeError]);
for (const source of [() => null.x, () => undefinedName, () => new Array(-1), () => decodeURI('%')]) {
  try { source(); } catch (error) { for (let p = error; p !== null; p = Object.getPrototypeOf(p)) if (typeof p.constructor === 'function') natives.add(p.constructor); }
}
for (const native of natives) {
  attempt(() => { native.prepareStackTrace = (error, frames) => { keep(frames); return frames; }; });
  attempt(() => { native.stackTraceLimit = 100; });
  attempt(() => Object.defineProperty(native, 'stackTraceLimit', { value: 100 }));
}
attempt(() => { globalThis.Error = class extends TypeError { static prepareStackTrace(error, frames) { keep(frames); return frames; } }; });
for (const source of [() => null.x, () => new Array(-1), () => { throw new TypeError('x'); }]) try { source(); } catch (error) { keep(error.stack); keep(error); }
`,
});
