/** The third argument of handlers. */
import test from 'ava';
import { guestModules } from '../guest-modules.js';

interface Owner {
  waitUntil(promise: unknown): void;
  passThroughOnException(): void;
}

interface Modules {
  'events/execution-context': {
    ExecutionContext: new () => object;
    createContext(owner: Owner): {
      waitUntil(promise?: unknown): void;
      passThroughOnException(): void;
      readonly props: object;
    };
  };
}

const newRealm = await guestModules<Modules>('events/execution-context');
const OWNER: Owner = { waitUntil() {}, passThroughOnException() {} };

test('an ExecutionContext is made by the guest alone, also right after it has made one', t => {
  const { ExecutionContext, createContext } = newRealm().modules['events/execution-context'];
  const construct = (): object => new ExecutionContext();
  t.like(t.throws(construct, { any: true }), { name: 'TypeError', message: 'Illegal constructor' });
  createContext(OWNER);
  t.like(t.throws(construct, { any: true }), { message: 'Illegal constructor' });
});

test('waitUntil() and passThroughOnException() reach the invocation of their context', t => {
  const { createContext } = newRealm().modules['events/execution-context'];
  const heard: unknown[] = [];
  const owner = (name: string): Owner => ({
    waitUntil: promise => heard.push(name, promise),
    passThroughOnException: () => heard.push(name),
  });
  const [first, second] = [createContext(owner('first')), createContext(owner('second'))];
  second.passThroughOnException();
  first.waitUntil(undefined);
  t.deepEqual(heard, ['second', 'first', undefined]);
});

test('waitUntil() requires an argument', t => {
  const context = newRealm().modules['events/execution-context'].createContext(OWNER);
  t.like(
    t.throws(() => context.waitUntil(), { any: true }),
    { name: 'TypeError' },
  );
});

test('members of a context refuse another receiver', t => {
  const context = newRealm().modules['events/execution-context'].createContext(OWNER);
  const prototype: object = Object.getPrototypeOf(context);
  for (const receiver of [{}, Object.create(context), undefined]) {
    for (const name of ['waitUntil', 'passThroughOnException']) {
      t.like(
        t.throws(() => Reflect.apply(Reflect.get(prototype, name), receiver, [1]), { any: true }),
        { name: 'TypeError' },
      );
    }
    const getter = Object.getOwnPropertyDescriptor(prototype, 'props')?.get;
    t.like(
      t.throws(() => Reflect.apply(getter ?? (() => {}), receiver, []), { any: true }),
      { name: 'TypeError' },
    );
  }
});

test('props is an empty object, the same at each look and another for each event', t => {
  const { createContext } = newRealm().modules['events/execution-context'];
  const context = createContext(OWNER);
  t.deepEqual(Object.keys(context.props), []);
  t.is(context.props, context.props);
  t.not(createContext(OWNER).props, context.props);
});
