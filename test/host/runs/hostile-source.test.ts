/** Sources that keep a parser busy, or overflow its stack: in a cell of their author's account, within its CPU time. */
import test from 'ava';
import { ISOLATIONS, newHost } from '../new-host.js';

for (const isolation of ISOLATIONS) {
  test(`an attacker's source that parsers of TypeScript take years for ends at limit cpuMs (${isolation})`, async t => {
    const box = newHost(t, { isolation })
      .account('acme')
      .sandbox({ limits: { cpuMs: 300 } });
    const { status, error } = await box.run('x = <T>(y = '.repeat(60));
    t.is(status, 'limit');
    t.is(error?.code, 'EDGE_CPU_LIMIT');
    t.like(await box.run('return 1'), { status: 'ok', value: 1 });
  });

  test(`an attacker's 256 KB of brackets fail before the end of the stack, and the parser works after them (${isolation})`, async t => {
    const box = newHost(t, { isolation })
      .account('acme')
      .sandbox({ limits: { cpuMs: 20_000 } });
    for (const part of ['(', '{', '`${', 'async()=>{', 'a<', '1+']) {
      const { status, error } = await box.run(part.repeat(256_000 / part.length));
      t.is(status, 'failed');
      t.is(error?.name, 'SyntaxError');
      t.regex(error?.message ?? '', /^The code is nested too deeply/);
      t.like(await box.run('const a: number = 1; return a'), { status: 'ok', value: 1 });
    }
  });

  test(`a syntax error of TypeScript has its line and column in the source as it was given (${isolation})`, async t => {
    const box = newHost(t, { isolation }).account('acme').sandbox();
    const { error } = await box.run('const a: number = 1;\n  const b: string = ;');
    t.regex(error?.stack ?? '', /run\.js:2:21/);
  });
}
