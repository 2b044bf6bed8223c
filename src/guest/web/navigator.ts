/** navigator, as far as a server has one. @see https://min-common-api.proposal.wintertc.org/#navigator-useragent-requirements */
import { TypeErrorCtor } from '../primordials.ts';
import { defineInterface } from './base/idl.ts';

let isConstructing = true;

export class Navigator {
  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  get userAgent(): string {
    return 'EdgeHost';
  }
}

defineInterface(Navigator);

export const navigator = new Navigator();
isConstructing = false;
