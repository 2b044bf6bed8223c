/** Every flag that `compatibilityFlags` may have. A flag that is not here changes nothing, so it is refused. */
export const COMPATIBILITY_FLAGS = [
  /** `list()` of buckets follows its `include` also before the compatibility date 2022-08-04. */
  'store_list_honor_include',
  /** `delimitedPrefixes` of `list()` of buckets end with the delimiter. */
  'store_list_prefix_keeps_delimiter',
  /** Weekdays of cron triggers are 1 to 7, and 1 is Sunday, in place of 0 to 7 where 0 and 7 are Sunday. */
  'cron_weekdays_start_at_1',
  /** `json` is the content type of queue messages that name none also before the compatibility date 2024-03-18. */
  'queues_json_messages',
  /** A batch of messages is done when its handler is, whatever becomes of what `waitUntil` was given. */
  'queue_consumer_no_wait_for_wait_until',
  /** The `binaryType` of a WebSocket is `blob` at first, also before the compatibility date 2026-03-17. */
  'websocket_standard_binary_type',
  /** `navigator.userAgent` is `Cloudflare-Workers`, by which libraries recognise the runtime, in place of `EdgeHost`. */
  'global_navigator',
  /** Navigations of browsers get the page of `notFoundHandling` before the function also before the compatibility date 2025-04-01. */
  'assets_navigation_prefers_asset_serving',
  /** The function answers all requests without a file, navigations as well, whatever the compatibility date. */
  'assets_navigation_has_no_effect',
  /** Functions can import Node's modules also before the compatibility date 2026-08-04. */
  'nodejs_compat',
  /** Functions cannot import Node's modules, whatever the compatibility date is. */
  'no_nodejs_compat',
  /** With Node's modules, `Buffer` and `process` are global names also before the compatibility date 2024-09-23. */
  'nodejs_compat_v2',
  /** `process.env` has the variables and secrets also before the compatibility date 2025-04-01. */
  'nodejs_compat_populate_process_env',
  /** `process.env` is empty at first, whatever the compatibility date is. */
  'nodejs_compat_do_not_populate_process_env',
  /** With Node's modules, global timers are objects with `unref()` and `refresh()` also before the compatibility date 2026-02-10. */
  'enable_nodejs_global_timers',
  /** Global timers are numbers, whatever the compatibility date is. */
  'no_nodejs_global_timers',
] as const;

export type CompatibilityFlag = (typeof COMPATIBILITY_FLAGS)[number];

/** From these dates on, what Node's modules are is as with the flags. */
const NODE_FROM = '2026-08-04';
const NODE_V2_FROM = '2024-09-23';
const NODE_ENV_FROM = '2025-04-01';
const NODE_TIMERS_FROM = '2026-02-10';

/** The flags of Node's modules that hold for a function; none when it cannot import them. */
export function nodeFlags(date: string, flags: readonly string[]): readonly string[] {
  if (flags.includes('no_nodejs_compat')) return [];
  const isNamed = flags.includes('nodejs_compat') || flags.includes('nodejs_compat_v2');
  if (!isNamed && date < NODE_FROM) return [];
  const all = ['nodejs_compat'];
  if (date >= NODE_V2_FROM || flags.includes('nodejs_compat_v2')) all.push('nodejs_compat_v2');
  const isFilled = date >= NODE_ENV_FROM || flags.includes('nodejs_compat_populate_process_env');
  if (isFilled && !flags.includes('nodejs_compat_do_not_populate_process_env')) {
    all.push('nodejs_compat_populate_process_env');
  }
  const hasTimers = date >= NODE_TIMERS_FROM || flags.includes('enable_nodejs_global_timers');
  if (hasTimers && !flags.includes('no_nodejs_global_timers')) all.push('enable_nodejs_global_timers');
  return all;
}
