// The direction of imports: ai > cli > host > management > config-schema > hostnames > s3 > pool > isolate > backend > bindings > protocol > sqlite > usage >
// storage > quotas. An import may skip a layer and never points left; type imports count. Checked by `npm run check:imports`.

const LAYERS = [
  'ai',
  'cli',
  'host',
  'management',
  'config-schema',
  'hostnames',
  's3',
  'pool',
  'isolate',
  'backend',
  'bindings',
  'protocol',
  'sqlite',
  'usage',
  'storage',
  'quotas',
];

/** What code of the guest realm may import besides itself and libraries that are plain JavaScript. */
const GUEST_MAY_IMPORT = [
  '^src/guest/',
  '^src/isolate/(ops/table|imports/built-in-modules)[.]ts$',
  '^src/guest/node/shapes[.]json$',
  '^src/(bindings/(client-platform|always-on-flags)|protocol/(needed-export|run-setup))[.]ts$',
  '^src/quotas/service-calls[.]ts$',
  '^src/bindings/[^/]+/(client|client/client|types|wire|socket-wire|storage-wire|storage-limits)[.]ts$',
  'node_modules/(web-streams-polyfill|urlpattern-polyfill|node-inspect-extracted|punycode|readable-stream-4|string_decoder|url|@pkgjs/parseargs)/',
];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...LAYERS.slice(1).map((layer, index) => ({
      name: `${layer}-never-points-left`,
      comment: `${layer} gets what it needs from a higher layer as an argument`,
      severity: 'error',
      from: { path: `^src/${layer}/` },
      to: { path: `^src/(${LAYERS.slice(0, index + 1).join('|')})/|^src/index[.]ts$` },
    })),
    {
      name: 'protocol-knows-shares-services-and-sizes-of-calls-alone',
      comment: 'both ends of a connection speak it, and neither is to bring its own world along',
      severity: 'error',
      from: { path: '^src/protocol/' },
      to: {
        path: '^src/',
        pathNot: ['^src/protocol/', '^src/(quotas/(caller-context|guarded|host/host-share|service-calls))[.]ts$'],
      },
    },
    {
      name: 'nothing-imports-the-entry',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/index[.]cjs$' },
      to: { path: '^src/index[.]ts$' },
    },
    {
      name: 'no-cycles',
      comment: 'counting type imports',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-circles-of-folders',
      comment: 'a folder that needs another is not needed by it, counting type imports',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    {
      name: 'guest-imports-only-itself',
      comment: 'code of the guest realm has no Node and nothing of the host: it is bundled for a realm of its own',
      severity: 'error',
      from: { path: '^src/guest/' },
      to: { pathNot: GUEST_MAY_IMPORT },
    },
    {
      name: 'only-the-bundle-imports-the-guest',
      severity: 'error',
      from: { pathNot: '^src/guest/' },
      to: { path: '^src/guest/' },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      // Types of built-in modules of functions refer to each other, and require() gets what the build bundles.
      to: { couldNotResolve: true, pathNot: '^(edgehost:|\\./bundle/)' },
    },
    {
      name: 'no-development-dependency',
      comment:
        'what src imports is installed with the package; the bundles of the guest and of the types bring their libraries along',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(guest/|isolate/source/strip-types[.]ts$)' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
      extensions: ['.ts', '.js', '.d.ts'],
    },
  },
};
