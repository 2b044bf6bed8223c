/** The values of the hosted platform, which libraries look at to find out where they run. */

const NODE_VERSION = '22.19.0';
/** There is one user, without rights. */
const USER = 0;

const asUser = (): number => USER;

export const identity = {
  version: `v${NODE_VERSION}`,
  versions: Object.freeze({ node: NODE_VERSION }),
  release: Object.freeze({ name: 'node', lts: 'Jod' }),
  platform: 'linux',
  arch: 'x64',
  title: 'edgehost',
  argv: ['edgehost'],
  argv0: 'edgehost',
  execArgv: [],
  execPath: '',
  pid: 1,
  ppid: 0,
  config: Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({}) }),
  features: Object.freeze({
    inspector: false,
    debug: false,
    uv: false,
    ipv6: true,
    tls_alpn: true,
    tls_sni: true,
    tls_ocsp: true,
    tls: true,
    cached_builtins: true,
    require_module: false,
    typescript: false,
  }),
  allowedNodeEnvironmentFlags: new Set<string>(),
  getuid: asUser,
  geteuid: asUser,
  getgid: asUser,
  getegid: asUser,
  getgroups: (): number[] => [USER],
  umask: (): number => 0o22,
  cwd: (): string => '/bundle',
};

/** Node has these too, and the hosted platform leaves them undefined. Libraries test for them. */
export const ABSENT = [
  'channel',
  'connected',
  'debugPort',
  'domain',
  'exitCode',
  'finalization',
  'mainModule',
  'noDeprecation',
  'permission',
  'report',
  'send',
  'sourceMapsEnabled',
  'throwDeprecation',
  'traceDeprecation',
] as const;
