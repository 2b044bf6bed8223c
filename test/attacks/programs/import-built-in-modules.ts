/** Built-in modules are text of the host realm that takes values of the guest realm: nothing of the former may come along. */
import { attack } from '../attack.js';

export default attack({
  tries: 'to reach the host by what built-in modules export, and by stubs',
  rules: ['R12', 'R19'],
  modules: {
    'main.js': `
import { keep, report, settle } from './probe.js';
import * as workers from 'edgehost:workers';
import * as others from 'cloudflare:workers';
keep(workers); keep(others);
for (const name of Object.keys(others)) { keep(others[name]); keep(others[name]?.prototype); }
export default { async fetch() {
  await settle(() => import('edgehost:workers'));
  await settle(() => workers.waitUntil());
  await settle(() => workers.waitUntil({ get then() { throw new Error('then'); } }));
  await settle(() => new workers.FunctionEntrypoint());
  await settle(() => Reflect.construct(workers.RpcTarget, [], Object));
  return report();
} };
`,
  },
});
