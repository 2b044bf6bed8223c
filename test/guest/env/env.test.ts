/** The environment of a function, from what the host says of it. */
import test from 'ava';
import { guestModules } from '../guest-modules.js';

interface Setup {
  readonly name: string;
  readonly env: Readonly<Record<string, unknown>>;
  readonly bindings: readonly { readonly name: string; readonly service: number }[];
  readonly flags: readonly string[];
  readonly isScript?: boolean;
}

interface Modules {
  'env/env': {
    createEnv(setup: Setup, createBinding: (service: number, name: string) => object): Record<string, unknown>;
    parseSetup(json: string): Setup;
  };
}

const newRealm = await guestModules<Modules>('env/env');

const SETUP: Setup = { name: 'f', env: {}, bindings: [], flags: [] };

test('createEnv() has variables and bindings by their names, and is frozen', t => {
  const { modules } = newRealm();
  const env = modules['env/env'].createEnv(
    { ...SETUP, env: { A: 'text', B: { c: 1 } }, bindings: [{ name: 'FILES', service: 3 }] },
    (service, name) => ({ service, name }),
  );
  t.deepEqual({ ...env }, { A: 'text', B: { c: 1 }, FILES: { service: 3, name: 'FILES' } });
  t.true(Object.isFrozen(env));
});

test('createEnv() makes own properties of names that objects inherit', t => {
  const { modules } = newRealm();
  const setup = modules['env/env'].parseSetup(
    '{"name":"f","env":{"__proto__":"p","constructor":"c","toString":"s"},"bindings":[],"flags":[]}',
  );
  const env = modules['env/env'].createEnv(setup, () => ({}));
  t.deepEqual(Object.getOwnPropertyNames(env).sort(), ['__proto__', 'constructor', 'toString']);
  t.is(Object.getOwnPropertyDescriptor(env, '__proto__')?.value, 'p');
});

test('createEnv() defines global variables for a classic script alone', t => {
  const { modules, evaluate } = newRealm();
  modules['env/env'].createEnv({ ...SETUP, env: { MODULE_ONLY: 1 } }, () => ({}));
  t.is(evaluate('typeof MODULE_ONLY'), 'undefined');
  const setup = { ...SETUP, env: { A: 'text' }, bindings: [{ name: 'FILES', service: 3 }], isScript: true };
  modules['env/env'].createEnv(setup, (_service, name) => ({ name }));
  t.is(evaluate('A + FILES.name'), 'textFILES');
});

test('createEnv() calls no setter that function code has put on Object.prototype', t => {
  const { modules, evaluate } = newRealm();
  evaluate(
    `Object.defineProperty(Object.prototype, 'A', { set() { throw new Error('caught'); }, configurable: true })`,
  );
  t.is(modules['env/env'].createEnv({ ...SETUP, env: { A: 1 } }, () => ({})).A, 1);
});

test('createEnv() throws what the making of a binding throws', t => {
  const { modules } = newRealm();
  const setup = { ...SETUP, bindings: [{ name: 'X', service: 99 }] };
  const error = new Error('There are no such bindings');
  t.is(
    t.throws(() =>
      modules['env/env'].createEnv(setup, () => {
        throw error;
      }),
    ),
    error,
  );
});
