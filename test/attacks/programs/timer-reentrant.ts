import { attack } from '../attack.js';

export default attack({
  tries: 'timers that clear, set and throw inside each other',
  rules: ['R7'],
  body: `
await new Promise(resolve => {
  let rounds = 0;
  const id = setInterval(function () { keep(this); clearInterval(id); setTimeout(function (...args) { keep(this); args.forEach(keep); if (++rounds > 20) resolve(); else setTimeout(arguments.callee ?? resolve, 0); }, 0, {}, []); setTimeout(resolve, 30); }, 0);
});
keep(setTimeout(() => {}, 0)); keep(setInterval(() => {}, 1e9));
attempt(() => setTimeout('keep(1)', 0));
attempt(() => clearTimeout({ valueOf() { throw new Error('x'); } }));
attempt(() => setTimeout({ handleEvent: keep }, 0));
`,
});
