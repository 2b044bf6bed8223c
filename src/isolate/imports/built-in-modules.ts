/**
 * The modules that every function can import without deploying them: the one table of their names, of what they export, and of the names
 * that code of the hosted platform has for them. Their values are made in the guest realm (guest/modules/built-in-modules.ts).
 */

/** By name: the names of their exports. */
export const BUILT_IN_MODULES = {
  'edgehost:workers': [
    'FunctionEntrypoint',
    'RpcTarget',
    'StatefulObject',
    'WorkflowEntrypoint',
    'env',
    'exports',
    'waitUntil',
  ],
  'edgehost:sockets': ['connect'],
  // Services that do not exist here: importing them is no error, so that the rest of a program runs, and their use is one.
  'cloudflare:email': ['EmailMessage'],
  'cloudflare:workflows': ['NonRetryableError'],
  /** Servers of node:http, see src/guest/node/http/server.ts. */
  'edgehost:node': ['handleAsNodeRequest', 'httpServerHandler'],
} as const;

export type BuiltInName = keyof typeof BUILT_IN_MODULES;

/** The values that a module has in the guest realm, all of them. */
export type BuiltInExports<Name extends BuiltInName> = Readonly<
  Record<(typeof BUILT_IN_MODULES)[Name][number], unknown>
>;

interface Alias {
  readonly of: BuiltInName;
  /** Exports under a second name, beside all of the module's own. */
  readonly renamed: Readonly<Record<string, string>>;
}

const ALIASES: Readonly<Record<string, Alias>> = {
  'cloudflare:workers': {
    of: 'edgehost:workers',
    renamed: { WorkerEntrypoint: 'FunctionEntrypoint', DurableObject: 'StatefulObject' },
  },
  'cloudflare:sockets': { of: 'edgehost:sockets', renamed: {} },
  'cloudflare:node': { of: 'edgehost:node', renamed: {} },
};

/** Names that an import can have for a built-in module. */
export const BUILT_IN_SPECIFIERS: readonly string[] = [...Object.keys(BUILT_IN_MODULES), ...Object.keys(ALIASES)];

export function isBuiltIn(specifier: string): boolean {
  return BUILT_IN_SPECIFIERS.includes(specifier);
}

/** The text of a built-in module, for the guest realm. `loader` is the module that exports `builtIn(name)` there. */
export function builtInSource(specifier: string, loader: string): string {
  const alias = Object.hasOwn(ALIASES, specifier) ? ALIASES[specifier] : undefined;
  const name = alias?.of ?? specifier;
  const own: readonly string[] = Object.entries(BUILT_IN_MODULES).find(([known]) => known === name)?.[1] ?? [];
  const exported = [...own.map(key => [key, key] as const), ...Object.entries(alias?.renamed ?? {})];
  const statements = exported.map(([key, of]) => `export const ${key} = values.${of};`);
  return `import { builtIn } from ${JSON.stringify(loader)};const values = builtIn(${JSON.stringify(name)});${statements.join('')}`;
}
