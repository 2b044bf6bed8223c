/** The members of a request that only browsers act on. They are checked, kept and returned. @see https://fetch.spec.whatwg.org/#request-class */
import { objectFreeze, TypeErrorCtor } from '../../primordials.ts';
import { quoted, toDOMString, toEnum, toUSVString } from '../base/idl.ts';
import { parseUrl } from '../url/url-parse.ts';

const MODES = ['same-origin', 'no-cors', 'cors', 'navigate'] as const;
const CREDENTIALS = ['omit', 'same-origin', 'include'] as const;
const CACHES = ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'] as const;
const POLICIES = [
  '',
  'no-referrer',
  'no-referrer-when-downgrade',
  'same-origin',
  'origin',
  'strict-origin',
  'origin-when-cross-origin',
  'strict-origin-when-cross-origin',
  'unsafe-url',
] as const;

/** They have their default values in nearly every request. */
export interface RequestExtras {
  readonly mode: (typeof MODES)[number];
  readonly credentials: (typeof CREDENTIALS)[number];
  readonly cache: (typeof CACHES)[number];
  readonly referrer: string;
  readonly referrerPolicy: (typeof POLICIES)[number];
  readonly integrity: string;
  readonly keepalive: boolean;
}

export const DEFAULT_EXTRAS: RequestExtras = objectFreeze({
  mode: 'cors',
  credentials: 'same-origin',
  cache: 'default',
  referrer: 'about:client',
  referrerPolicy: '',
  integrity: '',
  keepalive: false,
});

/** Checks the given members. `old` has the other members. */
export function readExtras(old: RequestExtras, given: { readonly [member: string]: unknown }): RequestExtras {
  const { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy } = given;
  if (
    cache === undefined &&
    credentials === undefined &&
    integrity === undefined &&
    keepalive === undefined &&
    mode === undefined &&
    referrer === undefined &&
    referrerPolicy === undefined
  ) {
    return old;
  }
  const extras: RequestExtras = {
    cache: cache === undefined ? old.cache : toEnum(cache, CACHES, 'Request constructor: cache'),
    credentials:
      credentials === undefined
        ? old.credentials
        : toEnum(credentials, CREDENTIALS, 'Request constructor: credentials'),
    integrity: integrity === undefined ? old.integrity : toDOMString(integrity),
    keepalive: keepalive === undefined ? old.keepalive : Boolean(keepalive),
    mode: mode === undefined ? old.mode : toEnum(mode, MODES, 'Request constructor: mode'),
    referrer: referrer === undefined ? old.referrer : parseReferrer(toUSVString(referrer)),
    referrerPolicy:
      referrerPolicy === undefined
        ? old.referrerPolicy
        : toEnum(referrerPolicy, POLICIES, 'Request constructor: referrerPolicy'),
  };
  if (extras.mode === 'navigate') throw new TypeErrorCtor('Request constructor: mode cannot be "navigate"');
  if (extras.cache === 'only-if-cached' && extras.mode !== 'same-origin') {
    throw new TypeErrorCtor('Request constructor: cache "only-if-cached" needs mode "same-origin"');
  }
  return extras;
}

function parseReferrer(text: string): string {
  if (text === '') return '';
  const url = parseUrl(text);
  if (url === undefined)
    throw new TypeErrorCtor(`Request constructor: the referrer ${quoted(text)} is not an absolute URL`);
  return url.href === 'about:client' ? 'about:client' : url.href;
}
