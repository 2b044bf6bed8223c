/** Runs module text in Node itself: the floor of what the same text does in a function. */

export type Exports = Readonly<Record<string, ((...args: readonly unknown[]) => unknown) | undefined>>;

/** The functions that the module exports. */
export async function importText(source: string): Promise<Exports> {
  const loaded: unknown = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  const functions: Record<string, (...args: readonly unknown[]) => unknown> = {};
  for (const [name, value] of Object.entries(loaded ?? {})) if (typeof value === 'function') functions[name] = value;
  return functions;
}
