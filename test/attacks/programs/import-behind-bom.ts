import { attack, ended } from '../attack.js';

export default attack({
  tries: 'import() behind a byte order mark and a hashbang',
  rules: ['R12'],
  modules: {
    'main.js': `
#! import('node:fs')
import { keep, report, settle } from './probe.js';
import './bom.js';
export default { async fetch() { await settle(() => import('node:fs')); keep(globalThis.stolen); await settle(() => globalThis.stolen); return report(); } };
`,
    'bom.js': `
﻿globalThis.stolen = import('node:fs'); globalThis.stolen.catch(() => {});
`,
  },
  holds: ended('EDGE_HANDLER_THREW', 'EDGE_SCRIPT_SYNTAX'),
});
