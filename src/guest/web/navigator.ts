/** navigator, as far as a server has one. @see https://min-common-api.proposal.wintertc.org/#navigator-useragent-requirements */
import { currentInvocation } from '../events/invocation.ts';
import { promiseThen, TypeErrorCtor } from '../primordials.ts';
import { requireHandler } from '../scope.ts';
import { defineInterface, requireArguments } from './base/idl.ts';
import { streamOf } from './fetch/body.ts';
import { fetch } from './fetch/fetch.ts';
import { type Response, responseState } from './fetch/response.ts';
import { cancel } from './streams/streams.ts';

let isConstructing = true;
let userAgent = 'EdgeHost';

/** Programs for the hosted platform look for this user agent. */
export function setHostedUserAgent(): void {
  userAgent = 'Cloudflare-Workers';
}

export class Navigator {
  readonly #isNavigator = true;

  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  get userAgent(): string {
    void this.#isNavigator;
    return userAgent;
  }

  /** An isolate runs on one thread, whatever the machine has. */
  get hardwareConcurrency(): number {
    void this.#isNavigator;
    return 1;
  }

  get language(): string {
    void this.#isNavigator;
    return 'en';
  }

  /** Sends a POST request, for which the event stays open; false when the event is over. @see https://w3c.github.io/beacon/#sendbeacon-method */
  sendBeacon(url: unknown, data: unknown = null): boolean {
    void this.#isNavigator;
    requireArguments(arguments.length, 1, 'navigator.sendBeacon');
    requireHandler('navigator.sendBeacon()');
    const invocation = currentInvocation();
    if (invocation === undefined) return false;
    // The answer is of no interest, and neither is a failure: only its connection is released.
    const sent = promiseThen(fetch(url, { method: 'POST', body: data, keepalive: true }), discard, () => undefined);
    invocation.waitUntil(sent);
    return true;
  }
}

function discard(response: Response): void {
  const { body } = responseState(response);
  if (body !== null) promiseThen(cancel(streamOf(body), undefined), undefined, () => undefined);
}

defineInterface(Navigator);

export const navigator = new Navigator();
isConstructing = false;

/** The value is the one from before the flag `enable_navigator_language`. */
export function hideLanguage(): void {
  Reflect.deleteProperty(Navigator.prototype, 'language');
}
