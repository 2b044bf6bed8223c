/** What becomes of cells, for tests that wait for it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ExecutionContext } from 'ava';

interface CellMessage {
  readonly account: string;
  readonly state: 'started' | 'ended';
  readonly detail: string;
}

/** Resolves when the next cell of the account has ended, with what is said of it. */
export function nextCellEnd(t: ExecutionContext, account: string): Promise<string> {
  return new Promise(resolve => {
    const listener = (message: unknown): void => {
      const { account: of, state, detail } = message as CellMessage; // the channel's only kind of message
      if (of !== account || state !== 'ended') return;
      unsubscribe('edgehost:cell', listener);
      resolve(detail);
    };
    subscribe('edgehost:cell', listener);
    t.teardown(() => unsubscribe('edgehost:cell', listener));
  });
}
