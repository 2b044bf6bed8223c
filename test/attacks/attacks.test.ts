/** The attack programs as functions that are deployed. */
import test from 'ava';
import type { Account, EdgeFunction } from '../../src/index.js';
import { ATTACKS } from './all-attacks.js';
import { isEndless, PATIENCE_MS, testAttacks } from './arena.js';
import type { Attack } from './attack.js';
import { PROBE } from './probe.js';

test('there are at least eighty attacks', t => {
  t.true(ATTACKS.length >= 80, `${ATTACKS.length}`);
});

testAttacks({
  subject: 'a function',
  takes: () => true,
  async run(account, attack) {
    const fn = await load(account, attack);
    try {
      if (attack.holds.kind === 'refused') throw new Error('It was loaded');
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fn.fetch('https://attack.test/path?query', { method: 'POST', body: 'the body', signal });
      return await response.text();
    } finally {
      fn.unload();
    }
  },
});

function load(account: Account, attack: Attack): Promise<EdgeFunction> {
  const { modules, isScript, vars } = attack;
  const options = { name: 'attack', vars, ...(isEndless(attack) && { limits: { cpuMs: 200 } }) };
  const [main = ''] = Object.keys(modules);
  if (isScript) return account.load(modules[main] ?? '', options);
  return account.load({ main, modules: { ...modules, './probe.js': PROBE } }, options);
}
