/**
 * A cell that was taken over sends calls whose heads are no heads: the text that names the invocation is hostile. Whatever the host makes of it, the host
 * and the backend process go on, and the warning names the account whose cell it was.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import fc from 'fast-check';
import { errorCode } from '../../src/quotas/errors.js';
import { handler } from '../host/new-host.js';
import { hijackedHost, inJavaScript, openNeighbourhood } from './cells/hijack.js';

const OWNERS = [
  '-1',
  '4294967296',
  '1e10',
  'NaN',
  '1.5',
  '9007199254740993',
  'Infinity',
  '-0.5',
  '\u0000',
  '0x100000000',
];
const HEADS = [...OWNERS.map(owner => `${owner}\nget\nKV\n{"key":"a"}`), '', '\n', '\n\n\n\n', 'x'.repeat(10_000)];
/** The same in each run. */
const RANDOM = fc.sample(fc.string({ unit: 'binary', maxLength: 40 }), { numRuns: 30, seed: 29 });

for (const backend of ['inline', 'process'] as const) {
  test(`a call whose head names no invocation ends the isolate that sent it, and nothing else, with backend: '${backend}'`, async t => {
    t.timeout(180_000);
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
    const neighbourhood = await openNeighbourhood({ storage, backend, usage: false });
    t.teardown(async () => {
      await neighbourhood.host.close({ drainMs: 0 });
      rmSync(storage, { recursive: true, force: true });
    });
    const { host } = neighbourhood;
    const warnings: { readonly code: string | undefined; readonly message: string }[] = [];
    host.on('warning', error => warnings.push({ code: errorCode(error), message: error.message }));
    const keeper = await host
      .account('neighbour')
      .load(handler(`await env.KV.put('k', '1'); return new Response(await env.KV.get('k'))`), { kv: { KV: 'pairs' } });
    t.is(await (await keeper.fetch('http://x/')).text(), '1');
    const pid = host.health().backend?.pid;
    const rig = await hijackedHost(t, neighbourhood, inJavaScript(), { kv: { KV: 'pairs' } });
    for (const heads of [...HEADS.map(head => [head]), RANDOM]) {
      const query = new URLSearchParams({ heads: JSON.stringify(heads) });
      const outcome = await rig.attack(`/heads?${query}`, new AbortController().signal).then(
        response => response.text(),
        (error: unknown) => errorCode(error),
      );
      t.true(outcome === 'sent' || outcome === 'EDGE_PROTOCOL', `${heads}: ${outcome}`);
      t.is(await (await keeper.fetch('http://x/')).text(), '1');
    }
    t.is(host.health().backend?.pid, pid);
    for (const { code, message } of warnings) {
      t.is(code, 'EDGE_PROTOCOL');
      t.true(message.includes(`account "${rig.attacker}"`), message);
    }
    if (backend === 'process') t.true(warnings.length >= OWNERS.length, JSON.stringify(warnings));
  });
}
