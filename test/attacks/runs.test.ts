/**
 * The attack programs once more, each as a run of a sandbox, in both isolation modes. After each of them another run looks at its own realm: it is the same,
 * property by property, as one before which no attack has run. So neither the thread nor the cell carries anything from one run to the next.
 */
import test from 'ava';
import type { AccountSandbox } from '../../src/index.js';
import { EdgeHost } from '../../src/index.js';
import { ISOLATIONS, type Isolation } from '../host/new-host.js';
import { ATTACKS } from './all-attacks.js';
import type { Attack } from './attack.js';
import { PROBE } from './probe.js';

const PROBE_IMPORT = /^import \{[^}]*\} from '\.\/probe\.js';$/m;

/** The attack as a function of one module. Undefined for an attack that needs several. */
function codeOf({ modules, isScript }: Attack): string | undefined {
  const [main = '', ...others] = Object.values(modules);
  if (isScript || others.length > 0 || !PROBE_IMPORT.test(main) || !main.includes('export default {')) return undefined;
  // Programs patch what a Response is read by, and a run answers with any value.
  const probe = PROBE.replaceAll(/^export (?:\{.*\};)?/gm, '').replace('return new NativeResponse(', 'return (');
  return `${probe}
${main.replace(PROBE_IMPORT, '').replace('export default {', 'const attack = {')}
export default async ({ env }) => {
  const request = new Request('https://attack.test/path?query', { method: 'POST', body: 'the body' });
  return await attack.fetch(request, env, { waitUntil() {}, passThroughOnException() {}, props: {} });
};`;
}

/** Everything that can be reached from the global object by properties: names, kinds and attributes, as one text for each object. */
const FINGERPRINT = `
  const seen = new Map([[globalThis, 'globalThis']]);
  const open = [globalThis];
  const lines = [];
  for (let object = open.pop(); object !== undefined; object = open.pop()) {
    const path = seen.get(object);
    const follow = (value, name) => {
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
      seen.set(value, path + '.' + String(name));
      open.push(value);
    };
    for (const name of Reflect.ownKeys(object)) {
      const { value, get, set, writable, configurable, enumerable } = Reflect.getOwnPropertyDescriptor(object, name);
      const shown = typeof value === 'string' || typeof value === 'boolean' ? value : typeof value;
      lines.push([path, String(name), shown, typeof get, typeof set, writable, configurable, enumerable].join(' '));
      follow(value, name); follow(get, String(name) + ' get'); follow(set, String(name) + ' set');
    }
    follow(Reflect.getPrototypeOf(object), 'prototype');
    lines.push(path + ' ' + Object.isExtensible(object) + ' ' + (seen.get(Reflect.getPrototypeOf(object)) ?? 'null'));
  }
  lines.sort();
  let depth = 0;
  const dive = () => { depth++; dive(); };
  try { dive(); } catch {}
  const patched = [RegExp.$1, RegExp.lastMatch, new Error('x').stack.split('\\n')[0], String(Error.stackTraceLimit), navigator.userAgent, new Intl.DateTimeFormat().resolvedOptions().timeZone];
  return [...patched, String(depth > 1000), ...lines];
`;

interface Arena {
  readonly host: EdgeHost;
  readonly box: AccountSandbox;
  /** A sandbox of another account, where nothing is attacked. */
  readonly neighbour: AccountSandbox;
  readonly clean: readonly string[];
}

const arenas = new Map<Isolation, Arena>();

async function fingerprint(box: AccountSandbox): Promise<readonly string[]> {
  const { value, error } = await box.run(FINGERPRINT);
  if (!Array.isArray(value)) throw new Error(`The run that looks has failed: ${error?.message}`);
  return value;
}

const limits = { cpuMs: 2000, wallMs: 20_000, resultBytes: 4_000_000 };

test.before(async () => {
  for (const isolation of ISOLATIONS) {
    const host = new EdgeHost({ storage: ':memory:', isolation, spareIsolates: 1, warmCells: 0 });
    const neighbour = host.account('neighbour').sandbox({ limits });
    const box = host.account('attacker').sandbox({ limits });
    arenas.set(isolation, { host, box, neighbour, clean: await fingerprint(neighbour) });
  }
});

test.after.always(async () => {
  for (const { host } of arenas.values()) await host.close({ drainMs: 0 });
});

test('at least sixty attacks can be runs', t => {
  const count = ATTACKS.filter(attack => codeOf(attack) !== undefined).length;
  t.true(count >= 60, `${count}`);
});

for (const isolation of ISOLATIONS) {
  for (const attack of ATTACKS) {
    const code = codeOf(attack);
    if (code === undefined || (attack.isProcessOnly && isolation === 'thread')) continue;
    test.serial(`a run that tries ${attack.tries} leaves no trace in the next (${isolation})`, async t => {
      const { box, clean } = arenaOf(isolation);
      const { status, value, error } = await box.run(code);
      const text = `${status} ${error?.message}`;
      if (attack.holds.kind !== 'contained') t.not(value, 'contained', text);
      else if (status === 'ok') t.is(value, 'contained');
      else t.true(status === 'failed' || status === 'limit', text);
      t.deepEqual(different(await fingerprint(box), clean), []);
    });
  }

  test.serial(`a neighbour of the runs that attack finds nothing of them (${isolation})`, async t => {
    const { neighbour, clean } = arenaOf(isolation);
    t.true(clean.length > 3000, `${clean.length}`);
    t.deepEqual(different(await fingerprint(neighbour), clean), []);
  });
}

function arenaOf(isolation: Isolation): Arena {
  const arena = arenas.get(isolation);
  if (arena === undefined) throw new Error('No arena');
  return arena;
}

function different(found: readonly string[], expected: readonly string[]): string[] {
  const known = new Set(expected);
  const here = new Set(found);
  return [...found.filter(line => !known.has(line)), ...expected.filter(line => !here.has(line))].slice(0, 10);
}
