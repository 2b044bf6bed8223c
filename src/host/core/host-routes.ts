/** The names of a host: which account has which host names, and which function answers a URL. */
import type { LocalSend } from '../../bindings/egress/transport.js';
import type { CallOrigin } from '../../bindings/service.js';
import { NameOwners } from '../../hostnames/name-owners.js';
import { EdgeError } from '../../quotas/errors.js';
import { localFetch, nextChain } from '../ingress/local-fetch.js';
import { Router } from '../ingress/router.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import { asksForSocket, localSocket } from '../rpc/local-socket.js';

export class HostRoutes {
  readonly names: NameOwners;
  readonly router: Router<FunctionRunner>;
  /** Whether the zones of the management API are known. */
  #namesKnown: Promise<void> = Promise.resolve();

  constructor(warn: (error: EdgeError) => void, onRoutes: () => void = () => {}) {
    this.names = new NameOwners({
      onChange: () => this.router.forget(),
      onInactive: message => warn(new EdgeError('EDGE_NAME_TAKEN', message)),
    });
    this.router = new Router(this.names, onRoutes);
  }

  get namesKnown(): Promise<void> {
    return this.#namesKnown;
  }

  /** Functions that are loaded from now on wait for this, be it that it fails. */
  awaitNames(ready: Promise<unknown>): void {
    const earlier = this.#namesKnown;
    this.#namesKnown = ready.then(
      () => earlier,
      () => earlier,
    );
  }

  /**
   * The function that answers when one of the account fetches the URL. Functions of other accounts answer only by custom domains that the owner of the
   * host has given to them: a route alone may name any domain, and would else get the requests that are meant for the true one.
   *
   * @throws EdgeError EDGE_LOOP
   */
  localSend(account: string, url: URL, origin: CallOrigin | undefined): LocalSend | undefined {
    const route = this.router.find(url.host, url.pathname);
    if (route === undefined || !route.customDomain || route.hostKind !== 'exact') return undefined;
    if (route.account !== account && !this.names.isGranted(route.account, route.name)) return undefined;
    const chain = nextChain(origin);
    return request => (asksForSocket(request) ? localSocket(route, request, chain) : localFetch(route, request, chain));
  }
}
