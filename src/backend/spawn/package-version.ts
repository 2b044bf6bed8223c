import { createRequire } from 'node:module';

let version: string | undefined;

/** The version of this package. */
export function packageVersion(): string {
  if (version !== undefined) return version;
  // From dist/src/backend/spawn.
  const description: { version?: unknown } = createRequire(import.meta.url)('../../../../package.json');
  version = String(description.version);
  return version;
}
