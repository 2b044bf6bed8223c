/** The text of configuration files, with a bound. */
import { open, stat } from 'node:fs/promises';
import { EdgeError, errorCode } from '../../../quotas/errors.js';

const MAX_BYTES = 256 * 1024;

/** The text of a configuration file. @throws EdgeError EDGE_CONFIG_INVALID when it cannot be read or is too long */
export async function textOf(file: string): Promise<string> {
  if (!(await isFile(file))) throw unreadable(file, undefined);
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      if (size > MAX_BYTES) {
        throw new EdgeError(
          'EDGE_CONFIG_INVALID',
          `${file} has ${size} bytes, a configuration file has at most ${MAX_BYTES}`,
        );
      }
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw errorCode(error) === 'EDGE_CONFIG_INVALID' ? error : unreadable(file, error);
  }
}

/** Whether there is a regular file, links followed. */
export async function isFile(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isFile() === true;
}

export function unreadable(file: string, cause: unknown): EdgeError {
  const why = cause instanceof Error ? cause.message : 'there is no such file';
  return new EdgeError('EDGE_CONFIG_INVALID', `Cannot read the configuration file ${file}: ${why}`, {
    cause,
    location: { file },
  });
}
