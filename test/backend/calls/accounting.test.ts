/** Which calls count and which hold a connection, for every row of the registry, with scripted services. */
import test from 'ava';
import { InvocationAccounting } from '../../../src/backend/calls/accounting.js';
import { answerCall, type ServiceEntry } from '../../../src/backend/calls/answer-call.js';
import { methodOf } from '../../../src/bindings/binding.js';
import { REGISTRY } from '../../../src/bindings/registry.js';
import type { Service, ServiceCall } from '../../../src/bindings/service.js';
import { Channel, type ChannelOwner } from '../../../src/protocol/channel.js';
import type { Exchange } from '../../../src/protocol/exchange.js';
import { loopback } from '../../../src/protocol/transports/loopback.js';
import { LimitWarnings } from '../../../src/quotas/limit-warnings.js';
import { PLANS } from '../../../src/quotas/limits.js';
import { type LimitOverrides, resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { ServiceId, SUBREQUEST_KINDS } from '../../../src/quotas/service-calls.js';
import { serviceEntry } from '../../host/service-entry.js';

/** The specification's list: Limits, rule 7. */
const CONNECTIONS: Readonly<Record<string, readonly string[]>> = {
  fetch: ['fetch'],
  cache: ['put', 'match', 'delete'],
  bucket: ['list', 'get', 'put', 'delete', 'head'],
  callback: [],
  kv: ['get', 'getMany', 'list', 'put', 'delete'],
  socket: ['connect'],
  websocket: ['fetch'],
  queue: ['send', 'sendBatch'],
  service: [],
  stub: [],
  sql: [],
  object: [],
  'object-storage': [],
  'object-sockets': [],
  unavailable: [],
  assets: [],
  loader: [],
  loopback: [],
};
/** Those that share the quota of fetch: rule 6. */
const EXTERNAL: readonly string[] = [
  'fetch',
  'cache',
  'socket',
  'websocket',
  'service',
  'stub',
  'unavailable',
  'assets',
  'loader',
  'loopback',
];

function accountingOf(overrides: LimitOverrides = {}, warnings = new LimitWarnings()): InvocationAccounting {
  const limits = resolveLimits({ plan: 'free', overrides: [overrides] });
  return new InvocationAccounting(limits, 'body', warnings, { ping() {}, cancelCall() {}, charge() {} });
}

test('the test knows every row', t => {
  t.deepEqual(REGISTRY.rows.map(({ name }) => name).sort(), Object.keys(CONNECTIONS).sort());
});

for (const row of REGISTRY.rows) {
  const connections = CONNECTIONS[row.name] ?? [];
  test(`calls of ${row.name} hold a connection for ${connections.join(', ')}, and for nothing else`, t => {
    for (const method of connections) t.true(methodOf(row, method).holdsConnection, method);
    for (const method of ['createMultipartUpload', 'abort', 'constructor', '__proto__', '']) {
      t.not(methodOf(row, method).holdsConnection, true, method);
    }
  });

  const limit = EXTERNAL.includes(row.name) ? 'subrequests' : 'internalSubrequests';
  for (const plan of PLANS) {
    // Queries have a quota of their own, which may be the lower one.
    const { [limit]: calls, sqlQueries } = resolveLimits({ plan });
    const allowed = row.subrequest === 'sql' ? Math.min(calls, sqlQueries) : calls;
    test(`countCall() of ${row.name} counts against ${limit} on plan ${plan}: ${allowed}, and no more`, t => {
      t.is(SUBREQUEST_KINDS[row.subrequest], limit);
      const accounting = new InvocationAccounting(resolveLimits({ plan }), 'body', new LimitWarnings(), {
        ping() {},
        cancelCall() {},
        charge() {},
      });
      for (let n = 0; n < allowed; n++) accounting.countCall(row.subrequest);
      t.throws(() => accounting.countCall(row.subrequest), {
        code: 'EDGE_SUBREQUEST_LIMIT',
        message: new RegExp(`limit ${allowed < calls ? 'sqlQueries' : limit} is`),
      });
    });
  }
}

test('countCall() lets calls of caches and fetches share one quota', t => {
  const accounting = accountingOf({ subrequests: 3 });
  accounting.countCall('cache');
  accounting.countCall('fetch');
  accounting.countCall('cache');
  t.throws(() => accounting.countCall('fetch'), { message: /limit subrequests is 3/ });
  t.notThrows(() => accounting.countCall('bucket'));
});

test('countCall() holds calls of caches to cacheCalls when that is tighter', t => {
  const warnings = new LimitWarnings();
  const accounting = accountingOf({ cacheCalls: 1 }, warnings);
  accounting.countCall('cache');
  t.throws(() => accounting.countCall('cache'), { message: /limit cacheCalls is 1 .*limits\.cacheCalls/ });
  t.true(warnings.all.some(({ limit }) => limit === 'cacheCalls'));
  t.notThrows(() => accounting.countCall('fetch'));
});

test('countRedirect() counts against subrequests, up to the number of redirects that are followed', t => {
  const { work } = accountingOf({ subrequests: 2, redirects: 3 });
  work.countRedirect(1);
  work.countRedirect(2);
  t.throws(() => work.countRedirect(3), { code: 'EDGE_SUBREQUEST_LIMIT' });
  t.throws(() => work.countRedirect(4), { code: 'EDGE_EGRESS_FAILED' });
});

/** Two ends of a channel in memory: calls made on one are answered on the other. */
function calls(entry: ServiceEntry, accounting: InvocationAccounting) {
  const [near, far] = loopback();
  const nobody: ChannelOwner = { onOpen() {}, onSignal() {}, onClose() {} };
  const isolate = new Channel(near, 'isolate', nobody);
  const answered: Promise<unknown>[] = [];
  new Channel(far, 'host', {
    ...nobody,
    onOpen: (exchange: Exchange, _service, head, _body, isComplete) => {
      answered.push(answerCall(entry, accounting, exchange, head, isComplete));
    },
  });
  return (method: string, binding = ''): Promise<string> =>
    new Promise((resolve, reject) => {
      const exchange = isolate.open(entry.definition.id, `${method}\n${binding}\n{}`, true, null, true);
      exchange.listener = {
        onReply: (_status, head) => resolve(head),
        onData() {},
        onCredit() {},
        onSent() {},
        onStop() {},
        onFail: reason => reject(new Error(reason)),
      };
    });
}

/** Answers when the test asks it to. */
class ScriptedService {
  readonly calls: ServiceCall[] = [];
  readonly #answers: (() => void)[] = [];
  #onCall: () => void = () => {};

  readonly service: Service = call =>
    new Promise(resolve => {
      this.calls.push(call);
      this.#answers.push(() => resolve({ head: 'ok' }));
      this.#onCall();
    });

  async arrivals(count: number): Promise<void> {
    while (this.calls.length < count) {
      await new Promise<void>(resolve => {
        this.#onCall = resolve;
      });
    }
  }

  answer(): void {
    this.#answers.shift()?.();
  }
}

for (const { id, name } of REGISTRY.rows) {
  if (CONNECTIONS[name]?.length === 0) continue;
  test(`the seventh call of ${name} waits until one of six is answered`, async t => {
    const scripted = new ScriptedService();
    const accounting = accountingOf();
    const call = calls(serviceEntry(id, scripted.service), accounting);
    const [method = ''] = CONNECTIONS[name] ?? [];
    const all = Array.from({ length: 7 }, () => call(method));
    await scripted.arrivals(6);
    await new Promise(resolve => setImmediate(resolve));
    t.is(accounting.gate.waitingCount, 1);
    t.is(scripted.calls.length, 6);
    scripted.answer();
    await scripted.arrivals(7);
    for (let n = 0; n < 6; n++) scripted.answer();
    t.deepEqual(await Promise.all(all), Array(7).fill('"ok"'));
    t.is(accounting.gate.openCount, 0);
  });

  test(`a call of a binding of ${name} that the function does not have fails, and counts all the same`, async t => {
    const entry = serviceEntry(id, new ScriptedService().service);
    await t.throwsAsync(calls(entry, accountingOf())('get', 'OTHER'), { message: /has no binding "OTHER"/ });
    const spent = calls(entry, accountingOf({ subrequests: 0, internalSubrequests: 0 }));
    await t.throwsAsync(spent('get', 'OTHER'), { message: /EDGE_SUBREQUEST_LIMIT/ });
  });
}

test('read() frees no connection whose body is still being fetched: an isolate that was taken over may say anything', async t => {
  const accounting = accountingOf();
  const connection = await accounting.gate.open();
  connection.answered();
  accounting.hold(1, connection, undefined);
  accounting.read(1);
  accounting.read(1);
  t.is(accounting.gate.openCount, 1);
  accounting.sent(1);
  t.is(accounting.gate.openCount, 0);
});

test('sent() frees no connection whose body has not been read', async t => {
  const accounting = accountingOf();
  const connection = await accounting.gate.open();
  connection.answered();
  accounting.hold(1, connection, undefined);
  accounting.sent(1);
  t.is(accounting.gate.openCount, 1);
  accounting.read(2);
  t.is(accounting.gate.openCount, 1);
  accounting.read(1);
  t.is(accounting.gate.openCount, 0);
});

/** Calls a service whose body is announced with a length, and sends `sent` bytes of it. */
function announced(
  announcedBytes: number,
  sent: number,
): { readonly read: Promise<number>; readonly failed: Promise<string> } {
  const [near, far] = loopback();
  const nobody: ChannelOwner = { onOpen() {}, onSignal() {}, onClose() {} };
  const isolate = new Channel(near, 'isolate', nobody);
  let read = (_bytes: number | Promise<number>): void => {};
  const whole = new Promise<number>(resolve => {
    read = resolve;
  });
  const service: Service = async ({ body }) => {
    const count = async (): Promise<number> => {
      let bytes = 0;
      for await (const chunk of body instanceof Uint8Array ? [body] : (body ?? [])) bytes += chunk.length;
      return bytes;
    };
    const counted = count();
    read(counted);
    return { head: await counted };
  };
  new Channel(far, 'host', {
    ...nobody,
    onOpen: (exchange, _service, head, _body, isComplete) =>
      void answerCall(serviceEntry(ServiceId.Kv, service), accountingOf(), exchange, head, isComplete),
  });
  const failed = new Promise<string>(resolve => {
    const exchange = isolate.open(ServiceId.Kv, `put ${announcedBytes}\n\n{}`, true, null, false);
    exchange.listener = {
      onReply: (_status, head) => resolve(`answered ${head}`),
      onData() {},
      onCredit() {},
      onSent() {},
      onStop() {},
      onFail: resolve,
    };
    exchange.sendBuffered(new Uint8Array(sent));
  });
  return { read: whole, failed };
}

test('answerCall() takes a body of the length that the call announces', async t => {
  const { read, failed } = announced(1000, 1000);
  t.is(await read, 1000);
  t.is(await failed, 'answered 1000');
});

for (const sent of [999, 1001, 0]) {
  test(`answerCall() fails a body of ${sent} bytes that was announced with 1000`, async t => {
    const { read, failed } = announced(1000, sent);
    await t.throwsAsync(read);
    t.is(await failed, `TypeError\nThe body has ${sent} bytes, and its length was announced as 1000\n`);
  });
}
