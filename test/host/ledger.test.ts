/** What counts and what holds a connection, for every kind of service, also those that the package does not have: with scripted services. */
import test from 'ava';
import type { Service, ServiceCall } from '../../src/bindings/service.js';
import { ServiceId } from '../../src/bindings/service-id.js';
import { Ledger } from '../../src/host/ledger.js';
import { answerCall, type FunctionServices } from '../../src/host/services.js';
import { Channel, type ChannelOwner } from '../../src/isolate/protocol/channel.js';
import type { Exchange } from '../../src/isolate/protocol/exchange.js';
import { loopback } from '../../src/isolate/protocol/loopback.js';
import { LimitWarnings } from '../../src/quotas/limit-warnings.js';
import { PLANS } from '../../src/quotas/limits.js';
import { type LimitOverrides, resolveLimits } from '../../src/quotas/resolve-limits.js';

/** The specification's list: Limits, rule 7. */
const CONNECTIONS = {
  Fetch: ['fetch'],
  Cache: ['put', 'match', 'delete'],
  Bucket: ['list', 'get', 'put', 'delete', 'head'],
} as const;
const NAMES = ['Fetch', 'Cache', 'Bucket'] as const;
/** Those that share the quota of fetch. */
const EXTERNAL: readonly string[] = ['Fetch', 'Cache'];

function ledgerOf(overrides: LimitOverrides = {}, warnings = new LimitWarnings()): Ledger {
  const limits = resolveLimits({ plan: 'free', overrides: [overrides] });
  return new Ledger(limits, 'body', warnings, { ping() {}, cancelCall() {}, charge() {} });
}

for (const name of NAMES) {
  test(`countCall() takes a connection for ${CONNECTIONS[name].join(', ')} of ${name}, and for nothing else of it`, t => {
    for (const method of CONNECTIONS[name]) t.true(ledgerOf().countCall(ServiceId[name], method), method);
    for (const method of ['createMultipartUpload', 'abort', 'constructor', '']) {
      t.false(ledgerOf().countCall(ServiceId[name], method), method);
    }
  });

  const limit = EXTERNAL.includes(name) ? 'subrequests' : 'internalSubrequests';
  for (const plan of PLANS) {
    const allowed = resolveLimits({ plan })[limit];
    test(`countCall() of ${name} counts against ${limit} on plan ${plan}: ${allowed}, and no more`, t => {
      const ledger = new Ledger(resolveLimits({ plan }), 'body', new LimitWarnings(), {
        ping() {},
        cancelCall() {},
        charge() {},
      });
      const method = CONNECTIONS[name][0] ?? '';
      for (let n = 0; n < allowed; n++) ledger.countCall(ServiceId[name], method);
      t.throws(() => ledger.countCall(ServiceId[name], method), {
        code: 'EDGE_SUBREQUEST_LIMIT',
        message: new RegExp(`limit ${limit} is`),
      });
    });
  }
}

test('countCall() lets calls of caches and fetches share one quota', t => {
  const ledger = ledgerOf({ subrequests: 3 });
  ledger.countCall(ServiceId.Cache, 'match');
  ledger.countCall(ServiceId.Fetch, 'fetch');
  ledger.countCall(ServiceId.Cache, 'put');
  t.throws(() => ledger.countCall(ServiceId.Fetch, 'fetch'), { message: /limit subrequests is 3/ });
  t.notThrows(() => ledger.countCall(ServiceId.Bucket, 'get'));
});

test('countCall() holds calls of caches to cacheCalls when that is tighter', t => {
  const warnings = new LimitWarnings();
  const ledger = ledgerOf({ cacheCalls: 1 }, warnings);
  ledger.countCall(ServiceId.Cache, 'match');
  t.throws(() => ledger.countCall(ServiceId.Cache, 'match'), { message: /limit cacheCalls is 1 .*limits\.cacheCalls/ });
  t.true(warnings.all.some(({ limit }) => limit === 'cacheCalls'));
  t.notThrows(() => ledger.countCall(ServiceId.Fetch, 'fetch'));
});

/** Two ends of a channel in memory: calls made on one are answered on the other. */
function calls(services: FunctionServices, ledger: Ledger) {
  const [near, far] = loopback();
  const nobody: ChannelOwner = { onOpen() {}, onNote() {}, onClose() {} };
  const isolate = new Channel(near, 'isolate', nobody);
  const answered: Promise<void>[] = [];
  new Channel(far, 'host', {
    ...nobody,
    onOpen: (exchange: Exchange, service, head, _body, isComplete) => {
      answered.push(answerCall(services, ledger, exchange, service as ServiceId, head, isComplete)); // of this test
    },
  });
  return (service: ServiceId, method: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const exchange = isolate.open(service, `${method}\n\n{}`, true, null, true);
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

/** Answers when it is told to. */
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

for (const name of ['Cache'] as const) {
  test(`the seventh call of ${name} waits until one of six is answered`, async t => {
    const scripted = new ScriptedService();
    const ledger = ledgerOf();
    const services: FunctionServices = {
      fetch: () => scripted.service,
      buckets: new Map(),
      more: new Map([[ServiceId[name], scripted.service]]),
    };
    const call = calls(services, ledger);
    const [method = ''] = CONNECTIONS[name];
    const all = Array.from({ length: 7 }, () => call(ServiceId[name], method));
    await scripted.arrivals(6);
    await new Promise(resolve => setImmediate(resolve));
    t.is(ledger.gate.waitingCount, 1);
    t.is(scripted.calls.length, 6);
    scripted.answer();
    await scripted.arrivals(7);
    for (let n = 0; n < 6; n++) scripted.answer();
    t.deepEqual(await Promise.all(all), Array(7).fill('"ok"'));
    t.is(ledger.gate.openCount, 0);
  });

  test(`a call of ${name}, which is not there, fails and says so`, async t => {
    const call = calls({ fetch: () => new ScriptedService().service, buckets: new Map() }, ledgerOf());
    await t.throwsAsync(call(ServiceId[name], 'get'), {
      message: /not supported by this version of EdgeHost\nEDGE_NOT_SUPPORTED/,
    });
    const spent = calls(
      { fetch: () => new ScriptedService().service, buckets: new Map() },
      ledgerOf({ subrequests: 0, internalSubrequests: 0 }),
    );
    await t.throwsAsync(spent(ServiceId[name], 'get'), { message: /EDGE_SUBREQUEST_LIMIT/ }, 'it counts all the same');
  });
}

test('read() frees no connection whose body is still being fetched: an isolate that was taken over may say anything', async t => {
  const ledger = ledgerOf();
  const connection = await ledger.gate.open();
  connection.answered();
  ledger.hold(1, connection);
  ledger.read(1);
  ledger.read(1);
  t.is(ledger.gate.openCount, 1);
  ledger.sent(1);
  t.is(ledger.gate.openCount, 0);
});

test('sent() frees no connection whose body has not been read', async t => {
  const ledger = ledgerOf();
  const connection = await ledger.gate.open();
  connection.answered();
  ledger.hold(1, connection);
  ledger.sent(1);
  t.is(ledger.gate.openCount, 1);
  ledger.read(2);
  t.is(ledger.gate.openCount, 1);
  ledger.read(1);
  t.is(ledger.gate.openCount, 0);
});
