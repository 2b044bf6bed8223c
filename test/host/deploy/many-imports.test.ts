/** Texts with very many places that look like import(), import.meta or neither: what they cost is bounded by the start-up, and nothing else ends. */
import test from 'ava';
import { ISOLATIONS, newHost, textOf } from '../new-host.js';

const ANSWERS = 'export default { fetch() { return new Response("ok") } };';

function of(count: number, part: string): string {
  return part.repeat(count);
}

for (const isolation of ISOLATIONS) {
  for (const [what, source] of [
    ['strings', `const a = [${of(40_000, '"import(x)",')}];`],
    ['import.meta', `const a = () => [${of(40_000, 'import.meta,')}];`],
    ['import()', `const a = () => [${of(40_000, 'import("x"),')}];`],
    ['calls of a method in a row', `const a = { import() { return a } }; const b = () => a${of(40_000, '.import()')};`],
  ] as const) {
    test(`load() takes 40,000 ${what} (${isolation})`, async t => {
      const fn = await newHost(t, { isolation }).load(`${source}${ANSWERS}`);
      t.is(await textOf(fn.fetch('http://x/')), 'ok');
    });
  }

  for (const [what, source] of [
    ['import.meta', `const a = () => [${of(270_000, 'import.meta,')}];`],
    ['expressions', `const a = () => [${of(270_000, '/import(x)/,')}];`],
    ['tagged templates', `const a = () => [${of(270_000, 'f\u0060import(x)\u0060,')}];`],
  ] as const) {
    test(`load() rejects with EDGE_STARTUP_LIMIT when 270,000 ${what} take a parser too long, and nothing else ends (${isolation})`, async t => {
      const host = newHost(t, { isolation });
      const other = await host.load(ANSWERS, { name: 'other' });
      const options = { name: 'f', limits: { startupMs: 50 } };
      await t.throwsAsync(host.load(`${source}${ANSWERS}`, options), { code: 'EDGE_STARTUP_LIMIT' });
      t.is(await textOf(other.fetch('http://x/')), 'ok');
    });
  }
}

test('load() says what does not parse in a long text, however many import() are in it', async t => {
  const source = `const a = [${of(60_000, '"import(x)",')}];\n${ANSWERS}\n!!! )`;
  const error = await t.throwsAsync(newHost(t).load(source, { name: 'f' }), { code: 'EDGE_SCRIPT_SYNTAX' });
  t.like(error, { location: { file: 'f.js', line: 3, column: 5 } });
});
