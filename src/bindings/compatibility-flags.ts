/** Every flag that `compatibilityFlags` may have. A flag that is not here changes nothing, so it is refused. */
export const COMPATIBILITY_FLAGS = [
  /** `list()` of buckets follows its `include` also before the compatibility date 2022-08-04. */
  'store_list_honor_include',
  /** `delimitedPrefixes` of `list()` of buckets end with the delimiter. */
  'store_list_prefix_keeps_delimiter',
] as const;

export type CompatibilityFlag = (typeof COMPATIBILITY_FLAGS)[number];
