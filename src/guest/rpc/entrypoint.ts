/** The classes that functions extend for what others call: `edgehost:workers` exports them. */
import { defineInterface, defineOwn } from '../web/base/idl.ts';

/** The class of a function's entrypoints: constructed for each event, with the context and the environment of its handlers. */
export class FunctionEntrypoint {
  constructor(context: unknown, env: unknown) {
    defineOwn(this, 'ctx', context);
    defineOwn(this, 'env', env);
  }
}

/** The class of stateful objects: constructed once for each that is live, with its context and the environment. */
export class StatefulObject {
  constructor(context: unknown, env: unknown) {
    defineOwn(this, 'ctx', context);
    defineOwn(this, 'env', env);
  }
}

/** The class of objects that are passed by reference. */
export class RpcTarget {}

defineInterface(FunctionEntrypoint);
defineInterface(StatefulObject);
defineInterface(RpcTarget);
