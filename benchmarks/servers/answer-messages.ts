/** Shared by programs that are controlled by messages: `[name, ...arguments]`, answered by `{ answer }` with JSON, or `{ error }`. */
import process from 'node:process';

type Action = (...args: readonly unknown[]) => Promise<unknown>;

/** Says that the program is ready. `close` runs when the harness has gone. `port`: of a server that it has. */
export function answerMessages(
  actions: Readonly<Record<string, Action>>,
  close: () => Promise<unknown>,
  port = 0,
): void {
  process.on('message', async ([name, ...args]: readonly unknown[]) => {
    try {
      const action = actions[String(name)];
      if (action === undefined) throw new Error(`There is no action "${name}"`);
      process.send?.({ answer: JSON.stringify((await action(...args)) ?? null) });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.once('disconnect', () => void close().finally(() => process.exit(0)));
  process.send?.({ port });
}
