import { attack } from '../attack.js';

export default attack({
  tries: 'to compile text',
  rules: ['R1', 'R23'],
  body: `
const AsyncFunction = (async () => {}).constructor, GeneratorFunction = (function* () {}).constructor, AsyncGeneratorFunction = (async function* () {}).constructor;
for (const code of [() => eval('1'), () => (0, eval)('1'), () => new Function('return 1')(), () => Function('return 1')(), () => new AsyncFunction('return 1')(), () => new GeneratorFunction('yield 1')(), () => new AsyncGeneratorFunction('yield 1')(), () => (() => {}).constructor('return 1')(), () => Reflect.construct(Function, ['return 1'], Object), () => Reflect.apply(eval, undefined, ['1']), () => [1].map.constructor('return 1')()]) {
  let ran = false;
  try { const result = keep(code()); ran = result === 1; } catch (error) { keep(error); }
  if (ran) fail(String(code));
}
`,
});
