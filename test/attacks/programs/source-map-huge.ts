import { attack } from '../attack.js';
import { PROBE } from '../probe.js';

const MAIN = `import { fail, report } from './probe.js'; import * as huge from './huge.js'; import * as many from './many.js';
export default { async fetch() {
for (let i = 0; i < 20; i++) for (const { make } of [huge, many]) {
  if (!/huge\\.js|a\\.ts/.test(make().stack)) fail('another stack');
}
return report();
} };`;
const MODULE = "export const make = () => new Error('x');\n//# sourceMappingURL=";
const map = (mappings: string): string => JSON.stringify({ version: 3, sources: ['a.ts'], mappings });

export default attack({
  tries: 'to have the host realm read source maps of tens of megabytes',
  rules: ['R4'],
  modules: {
    'main.js': MAIN,
    './probe.js': PROBE,
    'huge.js': `${MODULE}huge.js.map`,
    'huge.js.map': map(`AAAA${';'.repeat(17_000_000)}`),
    'many.js': `${MODULE}many.js.map`,
    'many.js.map': map('AAAA,'.repeat(1_000_000)),
  },
});
