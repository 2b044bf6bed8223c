/**
 * Compatibility flags: the one table of their names, dates and effects, and the rules by which each holds for a function. The documentation has the table too
 * (`node .scripts/compatibility-table.mjs`). Dates and names of the hosted platform are its own.
 */

interface Switch {
  /** The flag by which the function behaves so, whatever its date is. */
  readonly flag: string;
  /** A second name of the flag, on the hosted platform. */
  readonly alias?: string;
  /** The flag by which it does not, whatever its date is. */
  readonly off?: string;
  /** The compatibility date from which on it holds for functions that have neither flag. */
  readonly from?: string;
  /** The same for functions that a configuration file of the hosted platform describes, where it is another date. */
  readonly fromThere?: string;
  /** Whether it depends on `nodejs_compat`. */
  readonly isOfNode?: boolean;
  readonly effect: string;
}

/** From these dates on, Node's modules are as with the flags. */
const NODE_FROM = '2026-08-04';
const NODE_V2_FROM = '2024-09-23';
const NODE_ENV_FROM = '2025-04-01';
const NODE_TIMERS_FROM = '2026-02-10';

/** The flags that change something. */
export const SWITCHES = [
  {
    flag: 'store_list_honor_include',
    alias: 'r2_list_honor_include',
    from: '2022-08-04',
    effect: '`list()` of buckets follows its `include`',
  },
  {
    flag: 'store_list_prefix_keeps_delimiter',
    effect: '`delimitedPrefixes` of `list()` of buckets end with the delimiter',
  },
  {
    flag: 'cron_weekdays_start_at_1',
    effect: 'Weekdays of cron triggers are 1 to 7, and 1 is Sunday, in place of 0 to 7 where 0 and 7 are Sunday',
  },
  {
    flag: 'queues_json_messages',
    off: 'no_queues_json_messages',
    from: '2024-03-18',
    effect: '`json` is the content type of queue messages that name none, in place of `v8`',
  },
  {
    flag: 'queue_consumer_no_wait_for_wait_until',
    off: 'queue_consumer_wait_for_wait_until',
    effect: 'A batch of messages is done when its handler is, without the promises of `waitUntil`',
  },
  {
    flag: 'websocket_standard_binary_type',
    off: 'no_websocket_standard_binary_type',
    from: '2026-03-17',
    effect: 'The `binaryType` of a WebSocket is `blob` at first, in place of `arraybuffer`',
  },
  {
    flag: 'delete_all_deletes_alarm',
    off: 'delete_all_preserves_alarm',
    from: '2026-02-24',
    effect: '`deleteAll()` of the storage of an object deletes its alarm too',
  },
  {
    flag: 'global_navigator',
    off: 'no_global_navigator',
    fromThere: '2022-03-21',
    effect:
      '`navigator.userAgent` is `Cloudflare-Workers`, by which libraries recognise the runtime, in place of `EdgeHost`; by the other flag there is no `navigator`',
  },
  {
    flag: 'enable_navigator_language',
    off: 'disable_navigator_language',
    from: '2025-05-19',
    effect: '`navigator.language` is `en`, and not absent',
  },
  {
    flag: 'upper_case_all_http_methods',
    off: 'no_upper_case_all_http_methods',
    fromThere: '2024-10-14',
    effect: 'Every method of a `Request` is written in capitals: `patch` is `PATCH`. The standard keeps it as it is',
  },
  {
    flag: 'fetch_iterable_type_support',
    off: 'no_fetch_iterable_type_support',
    from: '2026-02-19',
    effect:
      'Bodies can be iterables and asynchronous iterables of bytes and strings, which are otherwise made a string',
  },
  {
    flag: 'disallow_importable_env',
    off: 'allow_importable_env',
    effect: '`env` of `cloudflare:workers` and `edgehost:workers` is empty',
  },
  {
    flag: 'assets_navigation_prefers_asset_serving',
    off: 'assets_navigation_has_no_effect',
    from: '2025-04-01',
    effect: 'Navigations of browsers get the page of `notFoundHandling` before the function',
  },
  {
    flag: 'nodejs_compat',
    off: 'no_nodejs_compat',
    from: NODE_FROM,
    isOfNode: true,
    effect: "Functions can import Node's modules",
  },
  {
    flag: 'nodejs_compat_v2',
    from: NODE_V2_FROM,
    isOfNode: true,
    effect:
      "With Node's modules, `Buffer` and `process` are global names. The flag implies `nodejs_compat`, its date does not",
  },
  {
    flag: 'nodejs_compat_populate_process_env',
    off: 'nodejs_compat_do_not_populate_process_env',
    from: NODE_ENV_FROM,
    isOfNode: true,
    effect: "With Node's modules, `process.env` has the variables and secrets, and is not empty",
  },
  {
    flag: 'enable_nodejs_global_timers',
    off: 'no_nodejs_global_timers',
    from: NODE_TIMERS_FROM,
    isOfNode: true,
    effect: "With Node's modules, `setTimeout()` and `setInterval()` return objects with `unref()` and `refresh()`",
  },
] as const satisfies readonly Switch[];

type Row = (typeof SWITCHES)[number];
type NameOf<R> = R extends { readonly flag: infer Name } ? Name : never;
type OffOf<R> = R extends { readonly off: infer Name } ? Name : never;
type AliasOf<R> = R extends { readonly alias: infer Name } ? Name : never;

export type CompatibilityFlag = NameOf<Row> | OffOf<Row> | AliasOf<Row>;

/** The names of all flags that change something. */
export const COMPATIBILITY_FLAGS: readonly CompatibilityFlag[] = SWITCHES.flatMap(row => [
  row.flag,
  ...('alias' in row ? [row.alias] : []),
  ...('off' in row ? [row.off] : []),
]);

/** Flags that ask for a behaviour that functions never have. They are refused, with the behaviour that functions have. */
export const NEVER_ON: Readonly<Record<string, string>> = {
  allow_eval_during_startup: 'code is never made from strings, not even in the global scope',
  disable_ctx_exports: '`ctx.exports` is always there',
  durable_object_fetch_allows_relative_url: '`fetch()` of a stateful object takes absolute URLs',
  fetch_treats_unknown_protocols_as_http: '`fetch()` takes URLs of http and https',
  fetcher_has_get_put_delete: 'services have `fetch()` and the methods of their entrypoint',
  formdata_parser_converts_files_to_strings: 'files of forms are objects of the class `File`',
  global_fetch_private_origin: '`fetch()` reaches the public internet, and whatever the owner of the host allows',
  retain_authorization_on_cross_origin_redirect: 'a redirect to another origin loses the header `authorization`',
  streams_disable_constructors: 'streams have constructors',
  transformstream_disable_standard_constructor: '`TransformStream` follows the standard',
  url_original: 'URLs follow the standard',
  urlpattern_original: '`URLPattern` follows the standard',
};

/** The flags that hold for a function, each by its own name, and the ones that it has named to switch something off. */
export function flagsInForce(date: string, named: readonly string[]): readonly CompatibilityFlag[] {
  const off = SWITCHES.flatMap(row => ('off' in row && named.includes(row.off) ? [row.off] : []));
  const on = SWITCHES.filter(row => !('isOfNode' in row) && isOn(row, date, named)).map(row => row.flag);
  return [...on, ...nodeFlags(date, named), ...off];
}

/** Whether the behaviour holds for a function. */
export function isInForce(
  flag: NameOf<Exclude<Row, { readonly isOfNode: true }>>,
  date: string,
  named: readonly string[],
): boolean {
  return SWITCHES.some(row => row.flag === flag && isOn(row, date, named));
}

/** The flags that the hosted platform has from the date of the function on, and the host for no date. */
export function flagsOfDateThere(date: string, named: readonly string[]): readonly CompatibilityFlag[] {
  return SWITCHES.filter(
    (row: Switch) => row.fromThere !== undefined && date >= row.fromThere && !isNamed(row, named),
  ).map(row => row.flag);
}

/** The two flags that contradict each other. */
export function contradiction(named: readonly string[]): readonly [string, string] | undefined {
  for (const row of SWITCHES as readonly Switch[]) {
    const on = named.find(flag => flag === row.flag || flag === row.alias);
    if (on !== undefined && row.off !== undefined && named.includes(row.off)) return [on, row.off];
  }
  return undefined;
}

function isOn(row: Switch, date: string, named: readonly string[]): boolean {
  if (named.includes(row.flag) || (row.alias !== undefined && named.includes(row.alias))) return true;
  return row.from !== undefined && date >= row.from && (row.off === undefined || !named.includes(row.off));
}

function isNamed({ flag, alias = flag, off = flag }: Switch, named: readonly string[]): boolean {
  return named.includes(flag) || named.includes(alias) || named.includes(off);
}

/** The flags of Node's modules that hold for a function; none when it cannot import them. */
function nodeFlags(date: string, flags: readonly string[]): readonly CompatibilityFlag[] {
  if (flags.includes('no_nodejs_compat')) return [];
  const isNamed = flags.includes('nodejs_compat') || flags.includes('nodejs_compat_v2');
  if (!isNamed && date < NODE_FROM) return [];
  const all: CompatibilityFlag[] = ['nodejs_compat'];
  if (date >= NODE_V2_FROM || flags.includes('nodejs_compat_v2')) all.push('nodejs_compat_v2');
  const isFilled = date >= NODE_ENV_FROM || flags.includes('nodejs_compat_populate_process_env');
  if (isFilled && !flags.includes('nodejs_compat_do_not_populate_process_env')) {
    all.push('nodejs_compat_populate_process_env');
  }
  const hasTimers = date >= NODE_TIMERS_FROM || flags.includes('enable_nodejs_global_timers');
  if (hasTimers && !flags.includes('no_nodejs_global_timers')) all.push('enable_nodejs_global_timers');
  return all;
}
