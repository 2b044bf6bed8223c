/** The keys of the hosted platform's configuration file: how each is read here. The table of docs/from-workers.md is made of this one. */

/**
 * `mapped`: it has the same effect here. `build`: it says how the modules are made. `ignored`: it is about deployment to the hosted platform. `unavailable`: a
 * service that does not exist here.
 */
export type WranglerTreatment = 'mapped' | 'build' | 'ignored' | 'unavailable';

/** `inherited`: environments have it from the top level, unless they have their own. `own`: each environment has its own. `top`: the top level alone has it. */
export type WranglerScope = 'inherited' | 'own' | 'top';

export interface WranglerKey {
  readonly treatment: WranglerTreatment;
  readonly scope: WranglerScope;
  /** The documentation's text: the option of load(), or what to do instead. */
  readonly text: string;
}

const mapped = (scope: WranglerScope, text: string): WranglerKey => ({ treatment: 'mapped', scope, text });
const build = (scope: WranglerScope, text: string): WranglerKey => ({ treatment: 'build', scope, text });
const ignored = (scope: WranglerScope, text = ''): WranglerKey => ({ treatment: 'ignored', scope, text });
const unavailable = (text: string): WranglerKey => ({ treatment: 'unavailable', scope: 'own', text });

export const WRANGLER_KEYS = {
  name: mapped('inherited', 'option `name`; an environment without its own has `NAME-ENVIRONMENT`'),
  main: mapped('inherited', 'the main module; TypeScript and packages are bundled by esbuild'),
  compatibility_date: mapped('inherited', 'option `compatibilityDate`'),
  compatibility_flags: mapped('inherited', 'option `compatibilityFlags`; flags without an effect here are left out'),
  route: mapped('inherited', 'option `routes`; a custom domain is a route of all its paths'),
  routes: mapped('inherited', 'option `routes`; a custom domain is a route of all its paths'),
  triggers: mapped('inherited', 'option `crons`; weekdays are numbered from 1'),
  limits: mapped('inherited', '`cpu_ms` and `subrequests` lower the limits of the account'),
  vars: mapped('own', 'option `vars`'),
  secrets: mapped('own', '`required`: `.dev.vars` and `.env` give these names only, and each must have a value'),
  kv_namespaces: mapped('own', 'option `kv`; without an id, the namespace is named after the function and the binding'),
  r2_buckets: mapped('own', 'option `buckets`; without a name, the bucket is named after the function and the binding'),
  d1_databases: mapped('own', 'option `sql`; `edgehost dev` and `serve` apply the migrations of `migrations_dir`'),
  queues: mapped('own', 'options `queues` and `consumers`'),
  durable_objects: mapped('own', 'option `objects`'),
  migrations: mapped(
    'inherited',
    'every class keeps its data, so nothing is migrated; a renamed or deleted class is reported',
  ),
  services: mapped('own', 'option `services`'),
  tail_consumers: mapped('own', 'option `tails`'),
  hyperdrive: mapped('own', 'a variable with `connectionString` and its parts, from `localConnectionString`'),
  version_metadata: mapped('own', 'a variable with `id`, `tag` and `timestamp`'),
  worker_loaders: mapped('own', 'option `loaders`'),
  env: mapped('top', 'environments: `edgehost dev --env NAME`'),

  build: build('inherited', '`command` runs before `edgehost dev` loads the function, and when `watch_dir` changes'),
  rules: build('inherited', 'kinds of modules: ESModule, CommonJS, Text, Data'),
  no_bundle: build('inherited', 'modules are loaded as they are'),
  find_additional_modules: build('inherited', 'files below `base_dir` that a rule names are modules'),
  base_dir: build('inherited', 'the folder of additional modules'),
  define: build('own', 'esbuild replaces these names'),
  alias: build('top', 'esbuild replaces these imports'),
  tsconfig: build('inherited', 'esbuild reads it'),
  jsx_factory: build('inherited', 'esbuild calls it for JSX'),
  jsx_fragment: build('inherited', 'esbuild calls it for JSX'),

  account_id: ignored('inherited'),
  workers_dev: ignored('inherited'),
  preview_urls: ignored('inherited'),
  usage_model: ignored('inherited'),
  placement: ignored('inherited'),
  observability: ignored('inherited', 'see [events](observability.md) of the host'),
  logpush: ignored('inherited', 'see [events](observability.md) of the host'),
  logfwdr: ignored('inherited'),
  minify: ignored('inherited'),
  keep_names: ignored('inherited'),
  preserve_file_names: ignored('inherited'),
  upload_source_maps: ignored('inherited', 'source maps are always used'),
  first_party_worker: ignored('inherited'),
  cache: ignored('inherited', 'the cache in front of functions is an option of the listener'),
  compliance_region: ignored('inherited'),
  python_modules: ignored('inherited'),
  previews: ignored('inherited'),
  keep_vars: ignored('top'),
  send_metrics: ignored('top'),
  legacy_env: ignored('top'),
  dev: ignored('top', 'options of `edgehost dev`'),
  dependencies_instrumentation: ignored('top'),
  $schema: ignored('top'),
  topLevelName: ignored('top'),
  targetEnvironment: ignored('top'),
  definedEnvironments: ignored('top'),
  configPath: ignored('top'),
  userConfigPath: ignored('top'),
  cloudchamber: ignored('own'),

  assets: {
    treatment: 'mapped',
    scope: 'inherited',
    text: 'the option `assets`',
  },
  ai: unavailable(
    'call a model by `fetch`, or give the function a [callback](service-bindings.md) of your application',
  ),
  ai_search: unavailable('call a search service by `fetch`'),
  ai_search_namespaces: unavailable('call a search service by `fetch`'),
  agent_memory: unavailable('store it in a stateful object or a database'),
  analytics_engine_datasets: unavailable(
    'write rows to a queue or a database, or read [events](observability.md) of the host',
  ),
  artifacts: unavailable('store files in a bucket'),
  browser: unavailable('call a browser service by `fetch`'),
  containers: unavailable('run the container beside the host, and call it by `fetch`'),
  dispatch_namespaces: unavailable('load functions by `worker_loaders`, or by the application'),
  flagship: unavailable('keep flags in a key-value namespace'),
  images: unavailable('call an image service by `fetch`'),
  media: unavailable('call a media service by `fetch`'),
  mtls_certificates: unavailable('let a callback of your application make the request'),
  pipelines: unavailable('send to a queue'),
  ratelimits: unavailable('count in a stateful object'),
  secrets_store_secrets: unavailable('give the value as a secret, by `.dev.vars` or the option `secrets`'),
  send_email: unavailable('call a mail service by `fetch`'),
  stream: unavailable('call a video service by `fetch`'),
  streaming_tail_consumers: unavailable('use `tail_consumers`'),
  unsafe: unavailable('leave it out'),
  unsafe_hello_world: unavailable('leave it out'),
  vectorize: unavailable('call a vector database by `fetch` or `connect()`'),
  vpc_networks: unavailable('let the egress policy of the host allow the addresses'),
  vpc_services: unavailable('let the egress policy of the host allow the addresses'),
  workflows: unavailable('use a queue, or alarms of a stateful object'),
  site: { treatment: 'unavailable', scope: 'top', text: 'serve the folder by `assets`' },
  wasm_modules: { treatment: 'unavailable', scope: 'top', text: 'WebAssembly does not run in functions' },
  text_blobs: { treatment: 'unavailable', scope: 'top', text: 'import the file as a Text module' },
  data_blobs: { treatment: 'unavailable', scope: 'top', text: 'import the file as a Data module' },
  pages_build_output_dir: { treatment: 'unavailable', scope: 'top', text: 'write `main` and `assets.directory`' },
} as const satisfies Readonly<Record<string, WranglerKey>>;

export type WranglerKeyName = keyof typeof WRANGLER_KEYS;

const KEYS: ReadonlyMap<string, WranglerKey> = new Map(Object.entries(WRANGLER_KEYS));

export function wranglerKey(name: string): WranglerKey | undefined {
  return KEYS.get(name);
}

export const WRANGLER_KEY_NAMES: readonly string[] = [...KEYS.keys()];
