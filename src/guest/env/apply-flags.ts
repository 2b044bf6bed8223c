/** Applies the compatibility flags of a function to its realm, before its code is evaluated. */

import { arrayIndexOf } from '../primordials.ts';
import { takeIterables } from '../web/fetch/body.ts';
import { upperCaseMethods } from '../web/fetch/request.ts';
import { hideLanguage, setHostedUserAgent } from '../web/navigator.ts';
import { setCompatibilityFlags } from '../web/platform-names.ts';
import { setDefaultBinaryType } from '../websockets/web-socket.ts';
import { hideImportableEnv } from './env.ts';

/** @param flags the flags that hold, by name or by the date of the function, and the ones that it has named to switch something off */
export function applyFlags(flags: readonly string[]): void {
  const has = (flag: string): boolean => arrayIndexOf(flags, flag) >= 0;
  setCompatibilityFlags(flags);
  if (has('websocket_standard_binary_type')) setDefaultBinaryType('blob');
  if (has('global_navigator')) setHostedUserAgent();
  if (!has('enable_navigator_language')) hideLanguage();
  if (has('upper_case_all_http_methods')) upperCaseMethods();
  if (has('fetch_iterable_type_support')) takeIterables();
  if (has('disallow_importable_env')) hideImportableEnv();
  if (has('no_global_navigator')) {
    Reflect.deleteProperty(globalThis, 'navigator');
    Reflect.deleteProperty(globalThis, 'Navigator');
  }
}
