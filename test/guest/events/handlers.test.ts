/** Where a function's handlers are found. */
import test from 'ava';
import { guestModules } from '../guest-modules.js';

type Handler = (event: unknown, env: object, context: object) => unknown;

interface Modules {
  'events/handlers': {
    handlersOfModule(namespace: object): Record<string, Handler>;
    kindsOf(handlers: Record<string, Handler>): string;
  };
}

const newRealm = await guestModules<Modules>('events/handlers');

/** What handlers a module with this default export has; the source is an expression. */
function handlersOf(source: string): { handlers: Record<string, Handler>; kinds: string } {
  const { modules, evaluate } = newRealm();
  const { handlersOfModule, kindsOf } = modules['events/handlers'];
  const handlers = handlersOfModule(Object(evaluate(`{ default: ${source} }`)));
  return { handlers, kinds: kindsOf(handlers) };
}

for (const [what, source, kinds] of [
  ['an object with methods', '{ fetch() {}, queue() {} }', 'fetch,queue'],
  ['every kind, in any order', '{ alarm() {}, queue() {}, scheduled() {}, fetch() {} }', 'fetch,scheduled,queue,alarm'],
  ['a member that is no function', `{ fetch: 'no', scheduled: null }`, ''],
  ['inherited methods', 'Object.create({ fetch() {} })', 'fetch'],
  ['a class', 'class { fetch() {} scheduled() {} }', 'fetch,scheduled'],
  ['a class that inherits', 'class extends (class { queue() {} }) {}', 'queue'],
  ['static methods of a class', 'class { static fetch() {} }', 'fetch'],
  ['a function with a method', 'Object.assign(() => {}, { fetch() {} })', 'fetch'],
  ['a function alone', '() => {}', ''],
  ['undefined', 'undefined', ''],
  ['null', 'null', ''],
  ['a text', `'fetch'`, ''],
] as const) {
  test(`kindsOf() is "${kinds}" for a default export that is ${what}`, t => {
    t.is(handlersOf(source).kinds, kinds);
  });
}

test('a handler is called on the default export, with event, env and context', t => {
  const { handlers } = handlersOf('{ own: 1, fetch(...args) { return [this.own, ...args]; } }');
  const [event, env, context] = [{}, {}, {}];
  const [own, ...args] = Object(handlers.fetch?.(event, env, context));
  t.is(own, 1);
  t.deepEqual(
    args.map((arg: unknown, at: number) => arg === [event, env, context][at]),
    [true, true, true],
  );
});

test('a class is constructed anew for each event, with context and env', t => {
  const { handlers } = handlersOf(
    'class { count = 0; constructor(...args) { this.args = args; } fetch() { return [++this.count, ...this.args]; } }',
  );
  const [env, context] = [{}, {}];
  for (let event = 0; event < 2; event++) {
    const [count, first, second] = Object(handlers.fetch?.(event, env, context));
    t.is(count, 1);
    t.is(first, context);
    t.is(second, env);
  }
});

test('an instance that hides the method of its class fails with the name of the method', t => {
  const { handlers } = handlersOf('class { constructor() { this.fetch = undefined; } fetch() {} }');
  const error: unknown = t.throws(() => handlers.fetch?.({}, {}, {}), { any: true });
  t.regex(String(error), /^TypeError: The instance of the default export has no method fetch/);
});

test('the method that a module had when it was loaded stays its handler', t => {
  const { modules, evaluate } = newRealm();
  const namespace = Object(evaluate(`{ default: { fetch() { return 'first'; } } }`));
  const handlers = modules['events/handlers'].handlersOfModule(namespace);
  namespace.default.fetch = () => 'second';
  t.is(handlers.fetch?.({}, {}, {}), 'first');
});

test('a scheduled handler gets a controller', t => {
  const { handlers } = handlersOf('{ scheduled(controller) { controller.noRetry(); return { ...controller }; } }');
  let calls = 0;
  const noRetry = (): void => void calls++;
  const seen = Object(handlers.scheduled?.({ cron: '* * * * *', scheduledTime: 5, noRetry }, {}, {}));
  t.is(calls, 1);
  t.like(seen, { type: 'scheduled', cron: '* * * * *', scheduledTime: 5 });
});

test('what a getter of the default export throws is thrown', t => {
  const error: unknown = t.throws(() => handlersOf(`{ get fetch() { throw new RangeError('boo'); } }`), { any: true });
  t.is(String(error), 'RangeError: boo');
});
