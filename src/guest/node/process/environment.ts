/** process.env: the variables and secrets of the function as text, which code can change for its isolate. */
import { theVariables } from '../../env/env.ts';
import { codeError } from '../errors.ts';
import { hasFlag } from '../options.ts';

/** As Node, which has text alone. */
function textOf(key: string | symbol, value: unknown): string {
  if (typeof key === 'symbol' || typeof value === 'symbol') {
    throw new TypeError('Cannot convert a Symbol value to a string');
  }
  return `${value as string}`; // any other value has a text, or throws
}

export function createEnvironment(): object {
  const variables: Record<string, string> = {};
  if (hasFlag('nodejs_compat_populate_process_env')) {
    for (const [name, value] of Object.entries(theVariables())) {
      // A value that is no text is what JSON can hold.
      variables[name] = typeof value === 'string' ? value : JSON.stringify(value);
    }
  }
  return new Proxy(variables, {
    set(target, key, value) {
      return Reflect.set(target, key, textOf(key, value));
    },
    defineProperty(target, key, described) {
      if (described.get !== undefined || described.set !== undefined) {
        const message = "'process.env' does not accept an accessor(getter/setter) descriptor";
        throw codeError(TypeError, 'ERR_INVALID_OBJECT_DEFINE_PROPERTY', message);
      }
      const value = textOf(key, described.value);
      return Reflect.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
    },
  });
}
