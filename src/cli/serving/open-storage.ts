/** Opens the storage of a server before anything is served: its defects would else appear with the first request. */
import type { EdgeHost } from '../../host/edge-host.js';
import { errorCode, messageOf } from '../../quotas/errors.js';
import { CommandError } from '../terminal/command.js';

/**
 * @param elsewhere how the command is given another storage: the end of a sentence
 * @throws CommandError with exit code 1
 */
export async function openStorage(host: EdgeHost, elsewhere: string): Promise<void> {
  try {
    await host.openStorage();
  } catch (error) {
    const code = errorCode(error);
    const reason =
      code === 'EDGE_INTERNAL' && error instanceof Error && error.cause !== undefined ? error.cause : error;
    const act = reason === error ? '' : `Cannot open the storage directory "${host.health().storage.location}": `;
    throw new CommandError(1, `${act}${messageOf(reason)} (${code})\n${remedyOf(code, elsewhere)}`, { cause: error });
  }
}

function remedyOf(code: string | undefined, elsewhere: string): string {
  if (code === 'EDGE_STORAGE_LOCKED')
    return `End the process that has it open, such as another edgehost, or ${elsewhere}`;
  return `Mend that (docs/errors.md has the remedy for each code), or ${elsewhere}`;
}
