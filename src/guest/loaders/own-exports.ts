/** `ctx.exports`: the entrypoints of the function itself, each as a service. `ctx.exports.Name` calls the export, `ctx.exports.Name({ props })` with props. */
import { ServiceId } from '../../quotas/service-calls.ts';
import { defineProperty, ErrorCtor, objectFreeze, objectKeys, TypeErrorCtor } from '../primordials.ts';
import { callMethod, failureOf } from '../rpc/calls.ts';
import { markService } from '../rpc/passed-services.ts';
import { createBindingStub } from '../rpc/stubs.ts';
import { defineValue } from '../web/base/idl.ts';
import { fetchFrom } from '../web/fetch/fetch.ts';
import { propsText } from './props-text.ts';

const exported: object = { __proto__: null };

/** Has its members when the main module has been evaluated. */
export function ownExports(): object {
  return exported;
}

/** @param isObjectClass whether an export is the class of stateful objects */
export function setOwnExports(namespace: object, isObjectClass: (value: unknown) => boolean): void {
  const names = objectKeys(namespace);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    let stub: object | undefined;
    const get = (): object => {
      if (isObjectClass((namespace as { readonly [name: string]: unknown })[name])) throw notBound(name); // a namespace can be read from
      stub ??= entrypoint(name, '');
      return stub;
    };
    defineProperty(exported, name, {
      __proto__: null,
      get,
      enumerable: true,
      configurable: false,
    } as PropertyDescriptor);
  }
  objectFreeze(exported);
}

function notBound(name: string): Error {
  const error = new ErrorCtor(
    `ctx.exports.${name} is a class of stateful objects, which are called by a binding: give the function the option objects`,
  );
  defineValue(error, 'code', 'EDGE_NOT_SUPPORTED');
  return error;
}

function entrypoint(name: string, props: string): object {
  const called = [name, props] as const;
  const fetch = (input: unknown, init: unknown = undefined): Promise<unknown> =>
    fetchFrom(ServiceId.Loopback, '', failureOf, input, init, called);
  const connect = (): never => {
    throw new TypeErrorCtor(`ctx.exports.${name}.connect() is not supported: call fetch() or a method`);
  };
  const own: { readonly [method: string]: unknown } = { __proto__: null, fetch, connect } as never; // without inherited names
  const stub = createBindingStub(
    (path, args) => callMethod(ServiceId.Loopback, '', path, args, { object: called }),
    method => (method in own ? { value: own[method] } : undefined),
    args => entrypoint(name, propsText(args[0], `ctx.exports.${name}()`)),
  );
  markService(stub, { e: name, p: props });
  return stub;
}
