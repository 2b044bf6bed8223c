/** Whether a path stays in a folder. The folder, and whatever names the path, may be a customer's. */
import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';

/** By the texts of absolute paths, without a look at links. The folder itself is inside. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Whether the path leads out of the folder, by its text or by a link. Both are absolute. A path without a file has no link. */
export async function leadsOut(folder: string, path: string): Promise<boolean> {
  if (!isInside(folder, path)) return true;
  const real = await realpath(path).catch(() => undefined);
  return real !== undefined && !isInside(await realpath(folder), real);
}
