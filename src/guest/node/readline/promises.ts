/** node:readline/promises. @see https://nodejs.org/api/readline.html#promises-api */
import { Readline } from './cursor.ts';
import { Interface as LineInterface, questionAborted, type Signal } from './interface.ts';

class Interface extends LineInterface {
  override question(query: unknown, options: { readonly signal?: Signal } = {}): Promise<string> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(questionAborted(signal));
        return;
      }
      const onAbort = (): void => {
        if (signal !== undefined) reject(questionAborted(signal));
      };
      const answer = (line: string): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve(line);
      };
      this.ask(query, answer, signal);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

function createInterface(input: unknown, output?: unknown, completer?: unknown, terminal?: unknown): Interface {
  return new Interface(input, output, completer, terminal);
}

export default { Interface, Readline, createInterface };
