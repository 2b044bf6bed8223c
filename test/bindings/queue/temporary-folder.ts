import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** A folder that goes with the test. */
export function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-queues-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
