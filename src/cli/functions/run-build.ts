/** Runs the command of a configuration file that builds the function: only in folders whose owner starts this program. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { FunctionError, shownPath } from '../../host/deploy/bundle/function-error.js';
import type { FileBuild } from '../../host/deploy/function-file.js';

/** The last of the output of a command that failed, in characters. */
const MAX_TAIL = 4000;

/**
 * @param out what the command prints
 * @throws FunctionError with the end of the output when the command fails
 */
export async function runBuild({ command, cwd }: FileBuild, out: (text: string) => void): Promise<void> {
  const child = spawn(command, { cwd, shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-MAX_TAIL);
      out(text);
    });
  }
  const ended: unknown[] = await once(child, 'close').catch((cause: unknown) => {
    throw new FunctionError(`The build command "${command}" cannot be started in ${shownPath(cwd)}: ${String(cause)}`, {
      cause,
    });
  });
  const [code, signal] = ended;
  if (code === 0) return;
  const how = code === null ? `was ended by ${String(signal)}` : `ended with ${String(code)}`;
  throw new FunctionError(`The build command "${command}" ${how}:\n${tail.trimEnd()}`);
}
