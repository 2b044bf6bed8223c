/** Random programs against a model: a Map that transactions copy. Each step may be followed by a new instance of the object. */
import test from 'ava';
import fc from 'fast-check';
import { idOf, openObjects } from '../../bindings/objects/open-objects.js';
import { ObjectRealm, type TestStorage } from './object-realm.js';

const RUNS = 150;

const key = fc.constantFrom('', 'a', 'a\0', 'ab', 'b', 'b\uffff', 'é', '\u{10000}', '\ufffd', 'zz');
const value = fc.oneof(fc.integer(), fc.string({ maxLength: 2000 }), fc.constant('x'.repeat(70_000)));
const range = fc.record(
  {
    start: key,
    startAfter: key,
    end: key,
    prefix: fc.constantFrom('', 'a', 'b', '\u{10000}'),
    reverse: fc.boolean(),
    limit: fc.integer({ min: 1, max: 4 }),
    noCache: fc.boolean(),
  },
  { requiredKeys: [] },
);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), key, value }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('get' as const), key }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('list' as const), range }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('sync' as const, 'restart' as const, 'deleteAll' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('begin' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('commit' as const, 'rollback' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Range = typeof range extends fc.Arbitrary<infer R> ? R : never;

test('ctx.storage does what a Map does, over transactions and new instances', async t => {
  t.timeout(120_000);
  const { storage, service, store } = await openObjects();
  t.teardown(() => storage.close());
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const run = new Run(new ObjectRealm(service), idOf(++runs), (a, b, text) => {
        if (JSON.stringify(a) !== JSON.stringify(b))
          throw new Error(`${text}: ${JSON.stringify(a)}, expected ${JSON.stringify(b)}`);
      });
      await run.steps([...steps]);
      await run.restart();
      await run.check();
    }),
    { numRuns: RUNS },
  );
  t.truthy(store);
  t.true(runs >= RUNS);
});

class Run {
  #storage: TestStorage;
  #model = new Map<string, unknown>();

  constructor(
    readonly realm: ObjectRealm,
    readonly id: string,
    readonly same: (actual: unknown, expected: unknown, text: string) => void,
  ) {
    this.#storage = realm.storage(id);
  }

  /** Runs them up to the end of the transaction that they are in. @returns what ended it */
  async steps(rest: Step[], isInside = false): Promise<'commit' | 'rollback'> {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      if (next.kind === 'commit' || next.kind === 'rollback') {
        if (isInside) return next.kind;
      } else if (next.kind === 'begin') await this.#transact(rest);
      else await this.#step(next, isInside);
    }
    return 'commit';
  }

  async restart(): Promise<void> {
    await this.#storage.sync();
    this.#storage = this.realm.storage(this.id);
  }

  async check(): Promise<void> {
    this.same([...(await this.#storage.list())], listed(this.#model, {}), 'everything');
  }

  async #transact(rest: Step[]): Promise<void> {
    const before = new Map(this.#model);
    await this.#storage
      .transaction(async () => {
        if ((await this.steps(rest, true)) === 'commit') return;
        this.#model = before;
        throw new Error('rolled back');
      })
      .catch((error: unknown) => {
        if (Reflect.get(Object(error), 'message') !== 'rolled back') throw error;
      });
  }

  async #step(step: Step, isInside: boolean): Promise<void> {
    switch (step.kind) {
      case 'put':
        void this.#storage.put(step.key, step.value);
        this.#model.set(step.key, step.value);
        return;
      case 'delete':
        this.same(
          await this.#storage.delete(step.key),
          this.#model.delete(step.key),
          `delete ${JSON.stringify(step.key)}`,
        );
        return;
      case 'get':
        this.same(await this.#storage.get(step.key), this.#model.get(step.key), `get ${JSON.stringify(step.key)}`);
        return;
      case 'list': {
        const { start, startAfter, ...others } = step.range;
        const range = start === undefined ? step.range : { start, ...others };
        this.same([...(await this.#storage.list(range))], listed(this.#model, range), `list ${JSON.stringify(range)}`);
        return;
      }
      case 'sync':
        return this.#storage.sync();
      case 'restart':
        if (!isInside) await this.restart();
        return;
      case 'deleteAll':
        if (isInside) return;
        await this.#storage.deleteAll();
        this.#model.clear();
        return;
      default:
    }
  }
}

function listed(
  model: Map<string, unknown>,
  { start, startAfter, end, prefix, reverse, limit }: Partial<Range>,
): unknown[] {
  const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  const entries = [...model]
    .filter(([name]) => name.startsWith(prefix ?? ''))
    .filter(([name]) => start === undefined || compare(name, start) >= 0)
    .filter(([name]) => startAfter === undefined || compare(name, startAfter) > 0)
    .filter(([name]) => end === undefined || compare(name, end) < 0)
    .sort(([a], [b]) => compare(a, b));
  if (reverse === true) entries.reverse();
  return entries.slice(0, limit);
}
