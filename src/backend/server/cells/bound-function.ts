/** A function of an application, with the services that it may call and what its invocations are held to. */
import type { CallOrigin } from '../../../bindings/service.js';
import type { ConnectionSlotRelease } from '../../../quotas/connection-limiter.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import type { ResolvedLimits } from '../../../quotas/resolve-limits.js';
import type { FunctionServices } from '../../calls/answer-call.js';

export class BoundFunction {
  readonly key: number;
  readonly services: FunctionServices;
  readonly limits: ResolvedLimits;
  readonly connectionSlotRelease: ConnectionSlotRelease;
  readonly share: HostShare;

  constructor(parts: Pick<BoundFunction, 'key' | 'services' | 'limits' | 'connectionSlotRelease' | 'share'>) {
    this.key = parts.key;
    this.services = parts.services;
    this.limits = parts.limits;
    this.connectionSlotRelease = parts.connectionSlotRelease;
    this.share = parts.share;
  }

  originOf(connection: number, invocation: number): RemoteOrigin {
    return new RemoteOrigin(this.key, connection, invocation);
  }
}

/** An invocation, as services that ask the application about it name it. The application knows the rest of it. */
export class RemoteOrigin implements CallOrigin {
  readonly function: number;
  readonly connection: number;
  readonly id: number;
  readonly props = undefined;
  readonly chain = undefined;
  /** Functions call each other in the application, which knows the chain. */
  readonly calls = { depth: 1, total: { count: 1 } };

  constructor(fn: number, connection: number, id: number) {
    this.function = fn;
    this.connection = connection;
    this.id = id;
  }

  get invocation(): string {
    return `${this.connection}/${this.id}`;
  }
}
