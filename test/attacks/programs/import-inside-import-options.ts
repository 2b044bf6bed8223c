/**
 * Edits of one import() inside the options of another once overlapped: the quote of a template was swallowed, and its text became code
 * that no parser had seen.
 */
import { attack } from '../attack.js';

const QUOTE = '\u0060';
const SMUGGLED = `function smuggle(x) { return import(x, ${QUOTE}\${(import('./probe.js'))}; globalThis.stolen = import('node:fs'); /*${QUOTE}) }`;

export default attack({
  tries: 'to smuggle import() past the rewriting in the options of another',
  rules: ['R12'],
  modules: {
    'main.js': `
import { attempt, fail, keep, report, settle } from './probe.js';
${SMUGGLED}
/**/
export default { async fetch() {
  attempt(() => smuggle('./probe.js').catch(keep));
  if ('stolen' in globalThis) fail('code that no parser saw');
  await settle(() => globalThis.stolen);
  return report();
} };
`,
  },
});
