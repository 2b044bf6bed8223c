/** A namespace with an export named then is a thenable: the host must never resolve a promise with it (rule R9). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to export a then from its main module',
  rules: ['R9'],
  modules: {
    'main.js': `
import { keep, report, settle } from './probe.js';
globalThis.calls = [];
export function then(...args) { globalThis.calls.push(...args, this); for (const arg of args) if (typeof arg === 'function') arg(1); }
export default { async fetch() { for (const call of globalThis.calls) keep(call); await settle(() => import('./other.js')); return report(); } };
`,
    'other.js': `
import { keep } from './probe.js';
export function then(resolve, reject) { keep(resolve); keep(reject); resolve(1); }
`,
  },
});
