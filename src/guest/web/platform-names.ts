/** Global names of the hosted platform that no other runtime has. */
import { ALWAYS_ON } from '../../bindings/always-on-flags.ts';
import { defineProperty, objectCreate, objectFreeze } from '../primordials.ts';
import { defineInterface, defineOwn, defineValue } from './base/idl.ts';
import { notSupported } from './base/not-supported.ts';

let flags: readonly string[] = [];

/** The flags that hold for the function, by its date or by name. */
export function setCompatibilityFlags(all: readonly string[]): void {
  flags = all;
}

/** `Cloudflare.compatibilityFlags`: true for each flag that holds, undefined for all others. */
export const Cloudflare: object = objectCreate(Object.prototype);

const accessor = {
  get compatibilityFlags(): object {
    const all = {};
    for (let at = 0; at < ALWAYS_ON.length; at++) defineOwn(all, ALWAYS_ON[at] ?? '', true);
    for (let at = 0; at < flags.length; at++) defineOwn(all, flags[at] ?? '', true);
    objectFreeze(all);
    // Made when it is first read: hardly any function does.
    defineProperty(this, 'compatibilityFlags', { __proto__: null, value: all, enumerable: true } as PropertyDescriptor);
    return all;
  },
};
defineProperty(Cloudflare, 'compatibilityFlags', {
  __proto__: null,
  get: Object.getOwnPropertyDescriptor(accessor, 'compatibilityFlags')?.get,
  enumerable: true,
  configurable: true,
} as PropertyDescriptor);
defineValue(Cloudflare, Symbol.toStringTag, 'Cloudflare', false);

export class HTMLRewriter {
  constructor() {
    throw notSupported(
      'HTMLRewriter is not supported. Rewrite the text of the response, or bundle a parser in plain JavaScript such as parse5',
    );
  }
}

defineInterface(HTMLRewriter);
