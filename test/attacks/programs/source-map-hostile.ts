import { attack } from '../attack.js';
import { PROBE } from '../probe.js';

const SOURCES = [
  'x.js:1:1)\n    at host (/etc/passwd:1:1',
  '__proto__',
  'constructor',
  'edgehost:isolate.js',
  'node:internal/process',
  '../../../../etc/passwd',
  'a'.repeat(100_000),
];
const MAP = JSON.stringify({
  version: 3,
  ['__proto__']: { sources: ['inherited'] },
  sources: SOURCES,
  // Each column of the second line comes from the next source, far beyond it and back.
  mappings: `AAAA;AAAA,${'CCAA,'.repeat(20)}CzpB99,C`,
});
const MAIN = `import { fail, keep, report } from './probe.js'; import { deep } from './mapped.js';
export default { async fetch(request) {
for (let i = 0; i < 2000; i++) for (const error of deep()) {
  const stack = error.stack;
  keep(error);
  if (typeof stack !== 'string' || stack.length > 20000) fail('a stack of ' + typeof stack);
  for (const line of String(stack).split('\\n').slice(1)) {
    if (!/^    at [^\\n]{1,700}:-?\\d+:-?\\d+\\)?$/.test(line) || /passwd:1:1|inherited|internal\\/|node_modules/.test(line)) fail(line);
  }
}
return report(true);
} };`;
const MAPPED = `const named = { ['x (mapped.js:2:3)']() { return new Error('x'); }, ['__proto__ (mapped.js:2:9)']() { return new TypeError('x'); } };
export const deep = () => [new Error(), new RangeError(), new Error('a'), ...Object.values(named).map(make => make())];
//# sourceMappingURL=mapped.js.map`;

export default attack({
  tries: 'to get out by what a source map says',
  rules: ['R4', 'R6'],
  modules: { 'main.js': MAIN, './probe.js': PROBE, 'mapped.js': MAPPED, 'mapped.js.map': MAP },
});
