import test from 'ava';
import { newHost } from '../new-host.js';

test('account() takes the same options again, also after they were changed', async t => {
  const host = newHost(t);
  const options = { plan: 'free', limits: { cpuMs: 5 } } as const;
  const acme = host.account('acme', options);
  t.is(host.account('acme', { limits: { cpuMs: 5 }, plan: 'free' }), acme);
  t.is(host.account('acme'), acme);
  t.is(host.account('acme', {}), acme);
  await acme.update({ plan: 'standard' });
  t.is(host.account('acme', options), acme);
  t.is(host.account('acme', { ...options, plan: 'standard' }), acme);
  t.is(acme.limits.plan, 'standard');
});

test('account() refuses other options for an account that exists, and names them', t => {
  const host = newHost(t);
  host.account('acme', { plan: 'free', hostBytes: 1e8 });
  t.throws(() => host.account('acme', { plan: 'standard', limits: { cpuMs: 5 } }), {
    instanceOf: TypeError,
    message:
      /exists already with other options \(plan, limits, hostBytes\): call host\.account\("acme"\) without options, and account\.update\(\)/,
  });
  // JavaScript callers can misspell.
  t.throws(() => host.account('acme', { plam: 'free' } as object), { instanceOf: TypeError, message: /plam/ });
});
