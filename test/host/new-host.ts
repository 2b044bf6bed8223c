/** Hosts for tests: in memory, closed when the test ends. */
import type { ExecutionContext } from 'ava';
import { EdgeHost, type EdgeHostOptions, type InvocationEvent, type LogEvent } from '../../src/index.js';

export type Isolation = 'process' | 'thread';
export const ISOLATIONS: readonly Isolation[] = ['process', 'thread'];

/** Without a warm isolate or process beside those that a test uses, which would take a third of the CPU time of most tests. */
export function newHost(t: ExecutionContext, options: EdgeHostOptions = {}): EdgeHost {
  const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, warmCells: 0, ...options });
  t.teardown(() => host.close({ drainMs: 0 }));
  return host;
}

/** The next invocation event that `matches`. */
export function nextInvocation(
  host: EdgeHost,
  matches: (event: InvocationEvent) => boolean = () => true,
): Promise<InvocationEvent> {
  return new Promise(resolve => {
    const listener = (event: InvocationEvent): void => {
      if (!matches(event)) return;
      host.off('invocation', listener);
      resolve(event);
    };
    host.on('invocation', listener);
  });
}

/** The message of the next log event of a function. */
export function nextLog(host: EdgeHost, name: string): Promise<string> {
  return new Promise(resolve => {
    const listener = (event: LogEvent): void => {
      if (event.function !== name) return;
      host.off('log', listener);
      resolve(event.message);
    };
    host.on('log', listener);
  });
}

/** An `outbound` handler that answers every request with an empty response, and when it was first called. */
export function emptyOutbound(): { readonly outbound: () => Response; readonly isCalled: Promise<void> } {
  let called = (): void => {};
  const isCalled = new Promise<void>(resolve => {
    called = resolve;
  });
  const outbound = (): Response => {
    called();
    return new Response('');
  };
  return { outbound, isCalled };
}

/** A module whose fetch handler has this body; `request`, `env` and `ctx` are in scope. */
export function handler(body: string): string {
  return `export default { async fetch(request, env, ctx) { ${body} } };`;
}

export async function textOf(response: Promise<Response>): Promise<string> {
  return (await response).text();
}
