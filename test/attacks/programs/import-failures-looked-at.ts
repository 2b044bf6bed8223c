/**
 * Errors of compiling, linking and evaluating are errors of the guest realm, whose prototypes function code may have replaced by the time
 * that it imports something: code that asks for the class of such an error then asks a Proxy (rule R10).
 */
import { attack } from '../attack.js';

export default attack({
  tries: 'to be asked for prototypes when an import fails',
  rules: ['R10'],
  modules: {
    'main.js': `
import { attempt, fail, keep, report } from './probe.js';
globalThis.touched = [];
const spy = name => new Proxy({}, Object.fromEntries(['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'set'].map(trap => [trap, (...args) => { touched.push(name + ' ' + trap); args.forEach(keep); throw 1; }])));
globalThis.spy = spy;
export default { async fetch() {
  for (const Kind of [SyntaxError, TypeError, RangeError, ReferenceError]) Object.setPrototypeOf(Kind.prototype, spy(Kind.name));
  const found = [];
  for (const name of ['./missing.js', './missing.js', './syntax.js', './syntax.js', './json.js', './throws.js', './throws.js', './of-throws.js', './late.js', './late.js', './ambiguous.js', './cycle.js']) {
    let isCaught = false;
    // Without a look of our own at what is caught.
    await import(name).then(() => {}, () => { isCaught = true; });
    if (!isCaught) found.push(name);
  }
  for (const Kind of [SyntaxError, TypeError, RangeError, ReferenceError]) Object.setPrototypeOf(Kind.prototype, Error.prototype);
  if (found.length > 0) fail('imported ' + found);
  if (touched.length > 0) fail(touched.join());
  return report();
} };`,
    './missing.js': `import { nothing } from './empty.js';`,
    './empty.js': 'export const something = 1;',
    './syntax.js': 'let 1;',
    './json.js': `import data from './data.json';`,
    './data.json': '{',
    './throws.js': `throw spy('thrown');`,
    './of-throws.js': `import './throws.js';`,
    './late.js': `await null; throw spy('thrown late');`,
    './ambiguous.js': `import { twice } from './both.js';`,
    './both.js': `export * from './one.js'; export * from './other.js';`,
    './one.js': 'export const twice = 1;',
    './other.js': 'export const twice = 2;',
    './cycle.js': `export { a } from './cycle-back.js'; import { a } from './cycle.js';`,
    './cycle-back.js': `export { a } from './cycle.js';`,
  },
});
