/** The files of a folder and of those below it. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const MAX_FILES = 10_000;

/** Without hidden ones and packages; up to 10,000. A folder that is not there has none. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const visit = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (found.length === MAX_FILES) return;
      if (entry.isDirectory()) await visit(join(path, entry.name));
      else if (entry.isFile()) found.push(join(path, entry.name));
    }
  };
  await visit(folder);
  return found;
}
