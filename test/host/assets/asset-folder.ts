/** Folders of static files for tests. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';

export type FolderFiles = Readonly<Record<string, string | Uint8Array>>;

/** Writes the files, by their paths in a new folder, which is removed when the test ends. */
export function assetFolder(t: Pick<ExecutionContext, 'teardown'>, files: FolderFiles): string {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'edgehost-assets-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  writeFiles(root, files);
  return root;
}

export function writeFiles(root: string, files: FolderFiles): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}
