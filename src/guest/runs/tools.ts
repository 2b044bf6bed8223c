/** The tools of a run: functions of the application in their namespaces, `tools.crm.find({ id })`. */
import type { ClientPlatform } from '../../bindings/client-platform.ts';
import { callApplication } from '../callbacks/client.ts';
import { hasOwn, promiseReject, stringSlice, TypeErrorCtor } from '../primordials.ts';
import type { Blob } from '../web/file/blob.ts';
import type { ReadableStream } from '../web/streams/streams.ts';

type Platform = ClientPlatform<ReadableStream, Blob>;
type Members = { [name: string]: Members | undefined };

/** `names`: those that there are, with their namespaces. A name that is not among them can be called, too: the host then says what it resembles. */
export function createTools(platform: Platform, names: readonly string[]): object {
  const root: Members = { __proto__: null } as never; // no inherited names
  for (let i = 0; i < names.length; i++) {
    let members = root;
    const name = names[i] ?? '';
    let at = 0;
    for (let end = 0; end <= name.length; end++) {
      if (end < name.length && name[end] !== '.') continue;
      const part = stringSlice(name, at, end);
      at = end + 1;
      members[part] ??= { __proto__: null } as never; // no inherited names
      members = members[part];
    }
  }
  return toolAt(platform, '', root);
}

/** A namespace, a tool, or a name that is neither: which of them it is, the host knows. */
function toolAt(platform: Platform, path: string, members: Members): object {
  const known: { [name: string]: object } = { __proto__: null } as never; // no inherited names
  const target =
    path === ''
      ? known
      : (...args: unknown[]): Promise<unknown> => {
          if (args.length <= 1) return callApplication(platform, path, args[0]);
          const message = `tools.${path}() takes one argument, it was called with ${args.length}: pass an object`;
          return promiseReject(new TypeErrorCtor(message));
        };
  return new ProxyCtor(target, {
    __proto__: null,
    get(_target: object, name: string | symbol): unknown {
      // A namespace that is awaited or made JSON must not call anything.
      if (typeof name === 'symbol' || (members[name] === undefined && (isForeign(name) || hasOwn(target, name))))
        return undefined;
      known[name] ??= toolAt(platform, path === '' ? name : `${path}.${name}`, members[name] ?? NOTHING);
      return known[name];
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  } as ProxyHandler<object>);
}

/** Names that the language asks for, or that every object and function has. */
function isForeign(name: string): boolean {
  return name === 'then' || name === 'toJSON' || name in FunctionPrototype;
}

const NOTHING: Members = { __proto__: null } as never; // no inherited names
const ProxyCtor = Proxy;
const FunctionPrototype: object = Function.prototype;
