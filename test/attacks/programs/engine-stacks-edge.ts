/**
 * What writes a stack is entered by the engine, so no code of the guest realm can catch what it throws for want of stack. The engine's own way
 * there takes some kilobytes, so many levels of calls are tried, each in steps of eight bytes.
 */
import { attack } from '../attack.js';

const MAP = Buffer.from(
  JSON.stringify({ version: 3, sources: ['original.ts'], names: [], mappings: 'AAAA;AACA;AACA;AACA;AACA' }),
).toString('base64');

export default attack({
  tries: 'to read the stack of an error of the engine with every amount of stack left',
  rules: ['R4', 'R5'],
  body: `
const pads = [];
for (let i = 0; i < 24; i++) pads.push(new Array(i).fill(0));
const hostile = { get name() { return hostile.name; } };
const reads = [
  () => { try { null.x; } catch (error) { return error.stack; } },
  () => { try { JSON.parse('{'); } catch (error) { return Object.getOwnPropertyDescriptor(error, 'stack'); } },
  () => new Error('x').stack,
  () => { const o = { get message() { return new Error('y').stack; } }; Error.captureStackTrace(o); return o.stack; },
  () => { try { null.x; } catch (error) { Object.defineProperty(error, 'name', { get() { return this.name; } }); return error.stack; } },
  () => Object.getOwnPropertyDescriptor(new Error('z'), 'stack')?.get?.call(new RangeError('r')),
];
// Twice, since what the engine compiles in the first round needs other amounts.
for (const read of [...reads, ...reads]) {
  const found = new Array(40000);
  let count = 0;
  let levels = 60;
  const leaf = (...pad) => read(pad.length);
  const sweep = () => { for (let i = 0; i < pads.length; i++) { try { found[count++] = leaf(...pads[i]); } catch (error) { found[count++] = error; } } };
  const dive = () => { try { dive(); } catch {} if (levels > 0) { try { sweep(); levels--; } catch {} } };
  dive();
  for (const value of found) {
    if (inspected(value) !== undefined) keep(value);
    if (typeof value === 'string' && /node:|edgehost|\\.cjs/.test(value)) fail(value);
    // What may come of it is an error that leads to nothing: what can be done with that is tried here.
    if (typeof value !== 'object' || value === null || value instanceof Error) continue;
    for (const key of ['get', 'set']) {
      const accessor = Object.getOwnPropertyDescriptor(value, 'stack')?.[key] ?? value[key];
      if (typeof accessor !== 'function') continue;
      attempt(() => accessor.call(new Error('own')));
      attempt(() => accessor.constructor('return process')());
      attempt(() => Reflect.construct(Array, [], accessor));
      attempt(() => { accessor.planted = 1; });
      attempt(() => new (class extends accessor {})());
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype && attempt(() => { 'use strict'; prototype.planted = 1; return 'planted'; }) === 'planted') fail('a prototype that can be changed');
  }
}
//# sourceMappingURL=data:application/json;base64,${MAP}
`,
});
