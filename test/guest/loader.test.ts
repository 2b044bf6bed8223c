/** The guest's side of module loading: what becomes of an import(), and of the main module. */
import test from 'ava';
import { Ev, Op } from '../../src/isolate/ops/table.js';
import { guestModules, OpFailure, settled } from './guest-modules.js';

interface Modules {
  loader: {
    onMainModule(evaluated: (namespace: object | undefined) => void, failed: (error: unknown) => void): void;
    imported(id: number, namespace: object): void;
    dynamicImport(referrer: string): (specifier: unknown, options?: unknown) => Promise<unknown>;
    moduleBytes(index: number, isArray: boolean): ArrayBuffer | Uint8Array;
  };
}

const newRealm = await guestModules<Modules>('loader');

function withImports(): ReturnType<typeof newRealm> & {
  load(specifier: unknown, options?: unknown): Promise<unknown>;
} {
  const realm = newRealm();
  let next = 0;
  realm.answer(Op.Import, () => ++next);
  return { ...realm, load: realm.modules.loader.dynamicImport('/main.js') };
}

test('import() asks for a specifier as text, from the module that it stands in', t => {
  const { load, takeOps } = withImports();
  void load('./a.js');
  void load({ toString: () => './b.js' });
  void load(undefined);
  t.deepEqual(takeOps(), [
    ['Import', '/main.js', './a.js'],
    ['Import', '/main.js', './b.js'],
    ['Import', '/main.js', 'undefined'],
  ]);
});

test('import() passes on the type that its options have, and reads them once', t => {
  const { load, takeOps, evaluate } = withImports();
  const options: unknown = evaluate(
    `{ reads: 0, get with() { this.reads++; return { type: 'bytes', __proto__: { other: 'x' } }; } }`,
  );
  void load('./a.bin', options);
  void load('./b.js', { with: undefined });
  void load('./c.js', { with: {} });
  t.deepEqual(takeOps(), [
    ['Import', '/main.js', './a.bin', 'bytes'],
    ['Import', '/main.js', './b.js'],
    ['Import', '/main.js', './c.js'],
  ]);
  t.like(options, { reads: 1 });
});

test('import() rejects, and asks the host nothing, when the specifier is no text', async t => {
  const { load, takeOps } = withImports();
  t.like(await t.throwsAsync(load(Symbol('x')), { any: true }), { name: 'TypeError' });
  const thrown = { own: true };
  const specifier = {
    toString(): never {
      throw thrown;
    },
  };
  t.is<unknown, unknown>(await t.throwsAsync(load(specifier), { any: true }), thrown);
  t.deepEqual(takeOps(), []);
});

test('import() rejects when the host refuses it', async t => {
  const { load, answer } = withImports();
  answer(Op.Import, () => {
    throw new OpFailure('TypeError\nThe deployment has no module "./x.js"');
  });
  t.like(await t.throwsAsync(load('./x.js'), { any: true }), { name: 'TypeError' });
});

test('each import() gets the namespace of its own module', async t => {
  const { load, modules } = withImports();
  const [first, second] = [load('./a.js'), load('./b.js')];
  const [a, b] = [{ default: 'a' }, { default: 'b' }];
  modules.loader.imported(2, b);
  modules.loader.imported(1, a);
  t.is(await first, a);
  t.is(await second, b);
});

test('import() rejects with what the module threw, whichever way that is told', async t => {
  const { load, enter, evaluate } = withImports();
  const [first, second] = [load('./a.js'), load('./b.js')];
  enter(Ev.EvaluationFailed, 1, 'thrown');
  enter(Ev.Evaluating, 2, evaluate(`Promise.reject('rejected')`));
  t.is<unknown, unknown>(await t.throwsAsync(first, { any: true }), 'thrown');
  t.is<unknown, unknown>(await t.throwsAsync(second, { any: true }), 'rejected');
});

test('an import that is not under way is ignored', t => {
  const { modules, enter } = withImports();
  t.notThrows(() => modules.loader.imported(5, {}));
  t.notThrows(() => enter(Ev.EvaluationFailed, 5, 'x'));
});

test('the main module is told of as evaluated with its namespace, a script without one', t => {
  const { modules, enter } = newRealm();
  const seen: unknown[] = [];
  modules.loader.onMainModule(
    namespace => seen.push(namespace),
    () => t.fail(),
  );
  const namespace = {};
  modules.loader.imported(0, namespace);
  enter(Ev.Evaluated);
  t.is(seen[0], namespace);
  t.is(seen[1], undefined);
  t.is(seen.length, 2);
});

test('the main module has failed when it threw, or when its evaluation rejects', async t => {
  const { modules, enter, evaluate } = newRealm();
  const seen: unknown[] = [];
  modules.loader.onMainModule(
    () => t.fail(),
    error => seen.push(error),
  );
  enter(Ev.EvaluationFailed, 0, 'thrown');
  enter(Ev.Evaluating, 0, evaluate(`Promise.reject('rejected')`));
  await settled();
  t.deepEqual(seen, ['thrown', 'rejected']);
});

test('moduleBytes() gives each module a buffer of its own', t => {
  const { modules, answer } = newRealm();
  answer(Op.ModuleBytes, index => (index === 0 ? 0 : 2));
  t.is(modules.loader.moduleBytes(0, false).byteLength, 0);
  t.is(modules.loader.moduleBytes(1, false).byteLength, 2);
  t.not(modules.loader.moduleBytes(1, false), modules.loader.moduleBytes(1, false));
});
