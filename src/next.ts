/**
 * `edgehost/next`: the configuration with which Next builds an application that uses EdgeHost.
 *
 * @example
 * // The configuration file of Next
 * import { withEdgeHost } from 'edgehost/next';
 * export default withEdgeHost({ output: 'standalone' });
 */

/** A configuration that depends on the phase of Next: a function that answers it, also later. */
type Configure<Config, Arguments extends readonly unknown[]> = (...args: Arguments) => Config | Promise<Config>;

/** The key that is set. Next 15 and later have it under this name. */
interface External {
  readonly serverExternalPackages?: readonly string[] | undefined;
}

/**
 * Keeps the package `edgehost` outside of the bundles that Next makes: it starts processes from its own files. Next then copies these files into
 * `.next/standalone` by itself. Takes and answers an object, or a function, as Next does.
 */
export function withEdgeHost<Config extends object, Arguments extends readonly unknown[]>(
  config: Configure<Config, Arguments>,
): (...args: Arguments) => Promise<Config & { serverExternalPackages: string[] }>;
export function withEdgeHost<Config extends object>(config?: Config): Config & { serverExternalPackages: string[] };
export function withEdgeHost(config: object | Configure<object, readonly unknown[]> = {}): unknown {
  if (typeof config === 'function') return async (...args: unknown[]) => external(await config(...args));
  return external(config);
}

function external<Config extends External>(config: Config): Config & { serverExternalPackages: string[] } {
  const packages = new Set(config.serverExternalPackages);
  return { ...config, serverExternalPackages: [...packages.add('edgehost')] };
}
