import { attack } from '../attack.js';

export default attack({
  tries: 'to set more timers than there may be',
  rules: ['R17'],
  body: `
let failed = 0;
for (let i = 0; i < 20000; i++) try { setTimeout(() => {}, 60000); } catch (error) { if (failed++ === 0) keep(error); }
if (failed === 0) fail('twenty thousand timers');
`,
});
