import { attack } from '../attack.js';

export default attack({
  tries: 'to be called by the stack formatter through Error.prepareStackTrace',
  rules: ['R4'],
  body: `
Error.prepareStackTrace = (error, frames) => { keep(error); keep(frames); for (const frame of frames) { keep(frame); keep(frame.getThis()); keep(frame.getFunction()); } return frames; };
keep(new Error('x').stack);
try { null.x; } catch (error) { keep(error); keep(error.stack); }
atTheEdge(() => new Error('deep').stack, 20);
await settle(() => Promise.reject(new Error('late')));
`,
});
