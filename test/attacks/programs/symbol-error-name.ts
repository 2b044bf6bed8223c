import { attack } from '../attack.js';

export default attack({
  tries: 'to make the stack formatter throw with a Symbol as the name of an error',
  rules: ['R4'],
  body: `
const error = new Error('x');
error.name = Symbol('name');
attempt(() => error.stack);
attempt(() => console.log(error));
attempt(() => reportError(error));
const native = attempt(() => null.x);
native.name = Symbol('x');
native.message = Symbol('y');
attempt(() => native.stack);
attempt(() => console.error(native));
await settle(() => Promise.reject(native));
class Hostile extends Error { get name() { throw Symbol('z'); } get message() { return Symbol('z'); } }
attempt(() => new Hostile().stack);
attempt(() => console.log(new Hostile()));
`,
});
