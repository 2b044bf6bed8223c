/** The values of `edgehost:workers`. */
import type { BuiltInExports } from '../../isolate/imports/built-in-modules.ts';
import { importableEnv } from '../env/env.ts';
import { currentInvocation } from '../events/invocation.ts';
import { ownExports } from '../loaders/own-exports.ts';
import { TypeErrorCtor } from '../primordials.ts';
import { FunctionEntrypoint, RpcTarget, StatefulObject } from '../rpc/entrypoint.ts';
import { requireHandler } from '../scope.ts';
import { requireArguments } from '../web/base/idl.ts';
import { WorkflowEntrypoint } from './missing-services.ts';

export function workersModule(): BuiltInExports<'edgehost:workers'> {
  return {
    FunctionEntrypoint,
    RpcTarget,
    StatefulObject,
    WorkflowEntrypoint,
    env: importableEnv(),
    exports: ownExports(),
    waitUntil,
  };
}

/** `ctx.waitUntil()` of the invocation that the calling code runs for. */
function waitUntil(promise: unknown): void {
  requireArguments(arguments.length, 1, 'waitUntil');
  requireHandler('waitUntil()');
  const invocation = currentInvocation();
  if (invocation === undefined) throw new TypeErrorCtor('waitUntil() was called after the end of its event');
  invocation.waitUntil(promise);
}
