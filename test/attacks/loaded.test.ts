/** The attack programs as code that a function of the account loads by `env.LOADER`. */
import type { Account, EdgeFunction } from '../../src/index.js';
import { EdgeError, type EdgeErrorCode } from '../../src/quotas/errors.js';
import { isEndless, PATIENCE_MS, testAttacks } from './arena.js';
import type { Attack } from './attack.js';
import { PROBE } from './probe.js';

/** It says how the code was refused or ended. An error of the handler itself has no code in its caller. */
const LOADING = `export default { async fetch(request, env) {
  const stub = env.LOADER.load({ ...await request.json(), globalOutbound: null });
  const attacked = new Request('https://attack.test/path?query', { method: 'POST', body: 'the body' });
  try {
    const response = await stub.getEntrypoint().fetch(attacked);
    return Response.json({ answer: await response.text() });
  } catch (error) {
    return Response.json({ code: error.code ?? 'EDGE_HANDLER_THREW', message: String(error) });
  }
} };`;

type Said = { readonly answer: string } | { readonly code: EdgeErrorCode; readonly message: string };

const loading = new WeakMap<Account, Promise<EdgeFunction>>();

testAttacks({
  subject: 'loaded code',
  // Loaded code has ES modules, and values in place of JSON texts. Its env cannot have the names of prototypes: test/bindings/loader/env.test.ts.
  takes: ({ isScript, modules, vars }) =>
    !isScript && Object.keys(vars).length === 0 && Object.entries(modules).every(([name, text]) => isValid(name, text)),
  async run(account, attack) {
    const fn = await functionOf(account);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await fn.fetch('https://agent.test/', {
      method: 'POST',
      body: JSON.stringify(codeOf(attack)),
      signal,
    });
    const said: Said = JSON.parse(await response.text());
    if ('answer' in said) return said.answer;
    throw new EdgeError(said.code, said.message);
  },
});

function functionOf(account: Account): Promise<EdgeFunction> {
  const known = loading.get(account);
  if (known !== undefined) return known;
  const loaded = account.load(LOADING, { name: 'agent', loaders: { LOADER: {} } });
  loading.set(account, loaded);
  return loaded;
}

function isValid(name: string, text: string): boolean {
  if (!name.endsWith('.json')) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function codeOf(attack: Attack): object {
  const { modules } = attack;
  const [mainModule = ''] = Object.keys(modules);
  const sources = Object.entries({ ...modules, 'probe.js': PROBE }).map(([name, text]) => [
    name,
    name.endsWith('.json') ? { json: JSON.parse(text) } : { js: text },
  ]);
  return {
    mainModule,
    modules: Object.fromEntries(sources),
    ...(isEndless(attack) && { limits: { cpuMs: 200 } }),
  };
}
