import { attack } from '../attack.js';

export default attack({
  tries: 'control characters and odd hosts in URLs',
  rules: ['R28'],
  body: String.raw`
for (const url of ['http://127.0.0.1\0.test/', 'http://x\0.test', 'http://0x7f.1/', 'http://[::ffff:127.0.0.1]/', 'http://2130706433/', 'file:///etc/passwd', 'data:text/plain,x', 'blob:x', 'javascript:1', 'http://user:pass@127.0.0.1/', 'http://169.254.169.254/latest/meta-data', 'http://localhost/', 'http://[::1]/', 'http://0/', 'https://x.test:99999/', 'http://\u3002/'])
  await settle(async () => { const response = await fetch(url); if (!url.startsWith('data:')) fail(url); return response; });
`,
});
