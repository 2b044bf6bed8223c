import { attack } from '../attack.js';

export default attack({
  tries: 'to reach the host by modules of Node that it imports statically',
  rules: ['R12'],
  top: `
import * as fs from 'node:fs';
import * as vm from 'node:vm';
import * as events from 'node:events';
import * as buffer from 'node:buffer';
`,
  body: `
for (const module of [fs, vm, events, buffer]) keep(module);
for (const name of Object.keys(fs)) attempt(() => fs[name]('/etc/passwd'));
for (const name of Object.keys(vm)) attempt(() => vm[name]('process'));
keep(Buffer, require('node:module'));
`,
});
