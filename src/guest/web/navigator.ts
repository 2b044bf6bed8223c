/** navigator, as far as a server has one. @see https://min-common-api.proposal.wintertc.org/#navigator-useragent-requirements */
import { TypeErrorCtor } from '../primordials.ts';
import { defineInterface } from './base/idl.ts';

let isConstructing = true;
let userAgent = 'EdgeHost';

/** Programs for the hosted platform look for this user agent. */
export function setHostedUserAgent(): void {
  userAgent = 'Cloudflare-Workers';
}

export class Navigator {
  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  get userAgent(): string {
    return userAgent;
  }
}

defineInterface(Navigator);

export const navigator = new Navigator();
isConstructing = false;
