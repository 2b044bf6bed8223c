import { attack } from '../attack.js';

export default attack({
  tries: 'to import modules of Node',
  rules: ['R12'],
  body: String.raw`
for (const name of ['node:fs', 'fs', 'node:process', 'process', 'node:vm', 'node:child_process', 'node:worker_threads', 'piscina', 'acorn', 'data:text/javascript,export default 1', 'file:///etc/passwd', 'https://x.test/x.js', 'edgehost:loader', 'edgehost:start', 'edgehost:guest', '', '\0', '../../../etc/passwd', '/etc/passwd', '__proto__', 'constructor'])
  await settle(() => import(name));
`,
});
