/** Folders with a configuration file of the hosted platform, for tests. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';

export type Files = Readonly<Record<string, string>>;

export const HELLO = "export default { fetch: () => new Response('hello') };\n";

/** Gone after the test. */
export function folder(t: ExecutionContext, files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'edgehost-wrangler-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** A project with this configuration and a main module that answers. */
export function project(t: ExecutionContext, configuration: object, more: Files = {}): string {
  const head = { name: 'shop', main: 'index.js', compatibility_date: '2025-01-01' };
  return folder(t, { 'wrangler.jsonc': json({ ...head, ...configuration }), 'index.js': HELLO, ...more });
}
