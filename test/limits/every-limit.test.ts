/**
 * Every limit of the table, set by name for the host, an account and a function: the value is allowed, one more is not, and the error names
 * the limit, both values and the option. At 80 % the invocation's event carries a warning, and not before.
 */
import { once } from 'node:events';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { AbuseEvent, EdgeFunction, EdgeHost, InvocationEvent, LoadOptions } from '../../src/index.js';
import { LIMIT_NAMES, LIMITS, type LimitName } from '../../src/quotas/limits.js';
import { assetFolder } from '../host/assets/asset-folder.js';
import { handler, newHost } from '../host/new-host.js';
import { listen } from '../servers.js';

/** Folders are removed when all tests of the file are over. */
const ENDING = { teardown: (end: () => void) => void process.once('exit', end) };
const LEVELS = ['host', 'account', 'function'] as const;
type Level = (typeof LEVELS)[number];

/** A host on which one limit has been set somewhere. */
interface Rig {
  readonly host: EdgeHost;
  readonly events: InvocationEvent[];
  /** What `outbound` has seen open at once. */
  readonly logs: string[];
  load(source: string, options?: LoadOptions): Promise<EdgeFunction>;
}

interface Probe {
  readonly figure: number;
  /** The figure of the host that shows what is allowed, where a busy machine takes more time than `figure` for very little. @default figure */
  readonly ampleFigure?: number;
  /** Uses so much of the limit; rejects when that is not allowed. */
  use(rig: Rig, used: number): Promise<unknown>;
  /** The usage is counted exactly; else 0 stands for very little, and one more than the limit for an unlimited amount. @default true */
  readonly isExact?: boolean;
  /** The limit is one of invocations, whose events warn of it. @default false */
  readonly warns?: boolean;
  /** It is the function that gets the error. @default false */
  readonly isGuests?: boolean;
  /** Exceeding it is not an error: this shows that it was exceeded. */
  readonly tells?: (rig: Rig) => boolean;
}

const OK = 'export default { fetch: () => new Response("ok"), scheduled() {} };';
const text = (length: number): string => 'x'.repeat(length);
const list = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n));

async function get(fn: EdgeFunction, path = '', init?: RequestInit): Promise<string> {
  return (await fn.fetch(`http://x/${path}`, init)).text();
}

const PROBES: Readonly<Record<Exclude<LimitName, keyof typeof ELSEWHERE>, Probe>> = {
  cpuMs: {
    figure: 60,
    ampleFigure: 10_000,
    isExact: false,
    use: async (rig, used) => get(await rig.load(handler(used > 0 ? 'for (;;);' : 'return new Response("")'))),
  },
  wallMs: {
    figure: 100,
    ampleFigure: 60_000,
    isExact: false,
    use: async (rig, used) =>
      (await rig.load(`export default { scheduled: () => scheduler.wait(${used > 0 ? 600_000 : 0}) }`)).scheduled(),
  },
  waitUntilMs: {
    figure: 100,
    ampleFigure: 30_000,
    isExact: false,
    use: async (rig, used) =>
      get(
        await rig.load(handler(`ctx.waitUntil(scheduler.wait(${used > 0 ? 600_000 : 0})); return new Response('now')`)),
      ),
    tells: ({ events }) => events.some(({ warnings }) => warnings.some(({ limit }) => limit === 'waitUntilMs')),
  },
  memoryBytes: {
    figure: 48 * 1024 * 1024,
    isExact: false,
    use: async (rig, used) =>
      get(
        await rig.load(
          handler(`const all = []; for (let n = 0; n < ${used > 0 ? 25 : 1}; n++) {
            all.push(new Uint8Array(8 << 20).fill(n)); await scheduler.wait(0); } return new Response('')`),
        ),
      ),
  },
  startupMs: {
    figure: 150,
    ampleFigure: 10_000,
    isExact: false,
    use: (rig, used) => rig.load(used > 0 ? `for (let n = 0; n < 5e9; n++);\n${OK}` : OK),
  },
  subrequests: {
    figure: 10,
    warns: true,
    isGuests: true,
    use: async (rig, used) =>
      get(
        await rig.load(
          handler(`for (let n = 0; n < ${used}; n++) await (await fetch('https://a.example/')).text();
        return new Response('')`),
        ),
      ),
  },
  internalSubrequests: {
    figure: 10,
    warns: true,
    isGuests: true,
    use: async (rig, used) =>
      get(
        await rig.load(
          handler(`for (let n = 0; n < ${used}; n++) await env.FILES.head('k'); return new Response('')`),
          {
            buckets: { FILES: 'files' },
          },
        ),
      ),
  },
  connections: {
    figure: 10,
    warns: true,
    use: async (rig, used) =>
      get(
        await rig.load(
          handler(`await Promise.all(Array.from({ length: ${used} }, async () => (await fetch('https://a.example/')).text()));
            return new Response('')`),
        ),
      ),
    tells: ({ events }) => events.some(({ connectionsWaited }) => connectionsWaited > 0),
  },
  redirects: {
    figure: 10,
    warns: true,
    isGuests: true,
    use: async (rig, used) =>
      get(await rig.load(handler(`return new Response((await fetch('https://a.example/${used}')).body)`))),
  },
  logBytes: {
    figure: 100,
    warns: true,
    // What is recorded first is the head of the request.
    use: async (rig, used) =>
      get(
        await rig.load(handler(`console.log('x'.repeat(${used - 'GET\nhttp://x/'.length})); return new Response('')`)),
      ),
    tells: ({ logs }) => logs.includes('Log truncated: limit logBytes is 100 (option limits.logBytes)'),
  },
  requestsPerDay: { figure: 10, warns: true, use: requests },
  requestsPerMinute: { figure: 10, warns: true, use: requests },
  urlBytes: {
    figure: 100,
    warns: true,
    use: async (rig, used) => get(await rig.load(OK), text(used - 'http://x/'.length)),
  },
  headersBytes: {
    figure: 100,
    warns: true,
    use: async (rig, used) =>
      get(await rig.load(OK), '', { headers: { 'x-a': text(30), 'x-b': text(used - 30 - 'x-ax-b'.length) } }),
  },
  headerBytes: {
    figure: 100,
    warns: true,
    use: async (rig, used) => get(await rig.load(OK), '', { headers: { 'x-a': text(used - 'x-a'.length) } }),
  },
  bodyBytes: {
    figure: 100,
    warns: true,
    use: async (rig, used) =>
      get(await rig.load(handler('return new Response(await request.text())')), '', {
        method: 'POST',
        body: text(used),
      }),
  },
  responseBytes: {
    figure: 100,
    warns: true,
    use: async (rig, used) => get(await rig.load(handler(`return new Response('x'.repeat(${used}))`))),
  },
  scriptBytes: {
    figure: 2000,
    isExact: false,
    use: (rig, used) => rig.load(used > 0 ? `${OK}// ${list(4000, n => Math.sin(n)).join()}` : OK),
  },
  assetFiles: {
    figure: 2,
    use: async (rig, used) => {
      const files = Object.fromEntries(list(used, n => [`${n}.txt`, 'x']));
      await rig.load(OK, { assets: assetFolder(ENDING, files) });
    },
  },
  assetFileBytes: {
    figure: 10,
    use: async (rig, used) => {
      await rig.load(OK, { assets: assetFolder(ENDING, { 'a.txt': text(used) }) });
    },
  },
  envVars: { figure: 2, use: (rig, used) => rig.load(OK, { vars: variables(used) }) },
  envVarBytes: { figure: 10, use: (rig, used) => rig.load(OK, { vars: { V: text(used) } }) },
  envVarsPerAccount: {
    figure: 4,
    use: async (rig, used) => {
      await rig.load(OK, { name: 'other', vars: variables(2) });
      await rig.load(OK, { vars: variables(1), secrets: { S: 's', ...(used > 4 && { T: 't' }) } });
    },
  },
  functions: {
    figure: 2,
    use: async (rig, used) => {
      for (let n = 0; n < used; n++) await rig.load(OK, { name: `f${n}` });
    },
  },
  cronTriggers: {
    figure: 3,
    use: async (rig, used) => {
      await rig.load(OK, { name: 'other', crons: ['0 0 * * *'] });
      await rig.load(OK, { crons: list(used - 1, n => `${n} 0 * * *`) });
    },
  },
  routesPerZone: {
    figure: 3,
    use: async (rig, used) => {
      await rig.load(OK, { name: 'other', routes: ['example.com/other/*'] });
      await rig.load(OK, { routes: list(used - 1, n => `example.com/${n}/*`) });
    },
  },
  zonesPerFunction: {
    figure: 2,
    use: (rig, used) => rig.load(OK, { routes: list(used, n => `zone${n}.com/*`) }),
  },
  storageBytes: {
    figure: 100,
    isGuests: true,
    use: async (rig, used) =>
      get(
        await rig.load(
          handler(
            `await env.B.put('a', 'x'.repeat(50)); await env.B.put('b', 'x'.repeat(${used} - 50)); return new Response('')`,
          ),
          { buckets: { B: 'bucket' } },
        ),
      ),
  },
  storageObjects: {
    figure: 2,
    isGuests: true,
    use: async (rig, used) =>
      get(
        await rig.load(
          handler(`for (let n = 0; n < ${used}; n++) await env.B.put(String(n), ''); return new Response('')`),
          { buckets: { B: 'bucket' } },
        ),
      ),
  },
};

/** Limits whose bound is tested where it can be reached, or which nothing of the package reaches. */
const ELSEWHERE = {
  cpuOverrunMs: 'only ever lent on top of cpuMs: test/quotas/cpu-token-bucket.test.ts',
  instances: 'one, and no override gives more',
  cacheCalls: 'test/host/caches/cache-limits.test.ts',
  cacheObjectBytes: 'test/host/caches/cache-limits.test.ts',
  cacheFileBytes: 'test/host/caches/cache-limits.test.ts',
  sqlQueries: 'test/host/sql/limits.test.ts',
  sqlDatabases: 'test/host/sql/limits.test.ts',
  sqlDatabaseBytes: 'test/host/sql/limits.test.ts',
  cacheBytes: 'test/host/caches/cache-limits.test.ts',
  addressRequestsPerSecond: 'needs an address: below, through a listener',
  listEntries: 'test/limits/bucket-limits.test.ts',
  webSocketMessageBytes: 'test/host/ingress/websocket/socket-limits.test.ts',
  objectEvents: 'test/host/objects/limits.test.ts',
  multipartUploadMs: 'test/limits/bucket-limits.test.ts',
} as const satisfies Partial<Record<LimitName, string>>;

async function requests(rig: Rig, used: number): Promise<void> {
  const fn = await rig.load(OK);
  for (let n = 0; n < used; n++) await get(fn);
}

function variables(count: number): Record<string, string> {
  return Object.fromEntries(list(count, n => [`V${n}`, 'v']));
}

function rigFor(t: ExecutionContext, limit: LimitName, level: Level, figure: number): Rig {
  const limits = { [limit]: figure };
  const host = newHost(t, {
    // A thread of the test's own process is quicker to have; memory is nothing for it.
    isolation: limit === 'memoryBytes' ? 'process' : 'thread',
    spareIsolates: 0,
    limits: level === 'host' ? limits : {},
    now: () => Date.UTC(2024, 0, 1, 12),
    outbound: request => {
      const left = Number(new URL(request.url).pathname.slice(1));
      return left > 0 ? new Response(null, { status: 302, headers: { location: `/${left - 1}` } }) : new Response('x');
    },
  });
  const account = host.account('acme', level === 'account' ? { limits } : {});
  const events: InvocationEvent[] = [];
  const logs: string[] = [];
  host.on('invocation', event => events.push(event));
  host.on('log', ({ message }) => logs.push(message));
  return {
    host,
    events,
    logs,
    load: (source, options) => account.load(source, { ...options, ...(level === 'function' && { limits }) }),
  };
}

async function warningsOf({ host, events }: Rig, count: number): Promise<readonly string[]> {
  while (events.length < count) await once(host, 'invocation');
  return events.flatMap(({ warnings }) => warnings.map(({ message }) => message));
}

test('every limit has a probe, or is tested elsewhere', t => {
  t.deepEqual([...Object.keys(PROBES), ...Object.keys(ELSEWHERE)].sort(), [...LIMIT_NAMES].sort());
});

for (const limit of LIMIT_NAMES) {
  const probe: Probe | undefined = Object.entries(PROBES).find(([name]) => name === limit)?.[1];
  if (probe === undefined) continue;
  const { figure, ampleFigure = figure, isExact = true, isGuests = false, tells } = probe;

  for (const level of LEVELS) {
    test(`${limit} set for the ${level} allows its figure and no more`, async t => {
      const within = rigFor(t, limit, level, ampleFigure);
      await t.notThrowsAsync(probe.use(within, isExact ? figure : 0));
      if (tells !== undefined) {
        await warningsOf(within, 1);
        t.false(tells(within));
      }
      const past = rigFor(t, limit, level, figure);
      if (tells !== undefined) {
        await probe.use(past, figure + 1);
        await warningsOf(past, 1);
        t.true(tells(past));
        return;
      }
      const error = await t.throwsAsync(probe.use(past, figure + 1), {
        code: isGuests ? 'EDGE_HANDLER_THREW' : (LIMITS[limit].code ?? ''),
      });
      t.regex(error?.message ?? '', new RegExp(`limit ${limit} is .*option limits\\.${limit}\\b`));
      if (isGuests) return;
      t.like(error, { limit: { name: limit, allowed: figure } });
      // Of what ends an isolate only the least that it used may be known.
      if (error !== undefined && 'limit' in error && error.limit instanceof Object && 'actual' in error.limit)
        t.true(Number(error.limit.actual) >= figure);
    });
  }

  if (probe.warns !== true) continue;
  for (const share of [0.7, 0.8]) {
    test(`an invocation that used ${share * 100} % of ${limit} has ${share < 0.8 ? 'no' : 'a'} warning`, async t => {
      const rig = rigFor(t, limit, 'host', figure);
      await probe.use(rig, Math.round(figure * share));
      const warnings = await warningsOf(rig, limit.startsWith('requestsPer') ? figure * share : 1);
      const expected = new RegExp(`is .* of .*, option limits\\.${limit}$`);
      t.is(warnings.filter(message => expected.test(message)).length, share < 0.8 ? 0 : 1, warnings.join('; '));
    });
  }
}

for (const level of LEVELS) {
  test(`addressRequestsPerSecond set for the ${level} allows its figure and no more`, async t => {
    const rig = rigFor(t, 'addressRequestsPerSecond', level, 3);
    const fn = await rig.load(OK);
    const origin = await listen(t, rig.host.listener({ function: fn }));
    const floods: AbuseEvent[] = [];
    rig.host.on('abuse', event => floods.push(event));
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) {
      const response = await fetch(origin);
      statuses.push(response.status);
      await response.arrayBuffer();
    }
    t.deepEqual(statuses, [200, 200, 200, 429, 429]);
    t.like(floods, [{ account: 'acme', actual: 4, allowed: 3 }]);
  });
}

test('an error of a limit of time tells the figure that was found', async t => {
  const rig = rigFor(t, 'wallMs', 'function', 50);
  const fn = await rig.load('export default { alarm: () => scheduler.wait(600_000) }');
  const error = await t.throwsAsync(fn.alarm(), { code: 'EDGE_WALL_TIME_LIMIT' });
  t.regex(error?.message ?? '', /finish the alarm invocation .*: wall time is .* limit wallMs is 50 ms/);
});

test('load() refuses more memory for a function than the isolates of its account have', async t => {
  const account = newHost(t).account('acme', { limits: { memoryBytes: 64 * 1024 * 1024 } });
  await t.throwsAsync(account.load(OK, { limits: { memoryBytes: 128 * 1024 * 1024 } }), {
    instanceOf: RangeError,
    message: /limits\.memoryBytes .* isolates of account "acme" have 67108864/,
  });
});
