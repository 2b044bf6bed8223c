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
] as const;

export type CompatibilityFlag = (typeof COMPATIBILITY_FLAGS)[number];
