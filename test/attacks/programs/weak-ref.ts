import { attack } from '../attack.js';

export default attack({
  tries: 'WeakRef and the moment of collection',
  rules: ['R3'],
  body: `
const refs = [];
for (let i = 0; i < 1000; i++) refs.push(new WeakRef({ i, big: new Array(100) }));
await scheduler.wait(5);
for (const ref of refs) keep(ref.deref());
keep(new WeakRef(request)); keep(new WeakRef(ctx).deref());
attempt(() => new WeakRef(Symbol.for('x')));
`,
});
