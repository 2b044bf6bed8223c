/** Hosts for tests: in memory, closed when the test ends. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import {
  type EdgeFunction,
  EdgeHost,
  type EdgeHostOptions,
  type InvocationEvent,
  type ListenerOptions,
  type LoadOptions,
  type LogEvent,
  type NodeListener,
} from '../../src/index.js';

export type Isolation = 'process' | 'thread';
export const ISOLATIONS: readonly Isolation[] = ['process', 'thread'];

/** Without a warm isolate or process beside those that a test uses, which would take a third of the CPU time of most tests. */
export function newHost(t: ExecutionContext, options: EdgeHostOptions = {}): EdgeHost {
  return openHost(options, end => t.teardown(end));
}

export interface SharedHost {
  load(source: string, options?: LoadOptions): Promise<EdgeFunction>;
  listener(source: string, options?: ListenerOptions): Promise<NodeListener>;
}

/**
 * Loads functions, each under a name of its own, into one host for all tests of a file, which takes half the time of a host for each: where neither the events of
 * the host nor its options matter.
 */
export function sharedHost(): SharedHost {
  let opened: EdgeHost | undefined;
  let count = 0;
  const ends: (() => unknown)[] = [];
  test.after.always(async () => {
    for (const end of ends.reverse()) await end();
  });
  const host = (): EdgeHost => {
    opened ??= openHost({}, end => ends.push(end));
    return opened;
  };
  const load: SharedHost['load'] = (source, options) => host().load(source, { name: `shared-${++count}`, ...options });
  const listener: SharedHost['listener'] = async (source, options) =>
    host().listener({ ...options, function: await load(source) });
  return { load, listener };
}

function openHost(options: EdgeHostOptions, onEnd: (end: () => unknown) => void): EdgeHost {
  const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, warmCells: 0, ...inBackend(options, onEnd) });
  onEnd(() => host.close({ drainMs: 0 }));
  return host;
}

/**
 * With EDGEHOST_TEST_BACKEND=process every host that can has its services in a process of their own, so that the tests of services run on both: in a storage
 * directory in place of ':memory:'. One with a clock or a registry of its own stays as it is, because those do not cross.
 */
function inBackend(options: EdgeHostOptions, onEnd: (end: () => unknown) => void): EdgeHostOptions {
  const { storage = ':memory:', isolation, now, backend } = options;
  if (process.env.EDGEHOST_TEST_BACKEND !== 'process' || backend !== undefined) return options;
  if (isolation === 'thread' || now !== undefined) return options;
  if (storage !== ':memory:') return { ...options, backend: 'process' };
  const directory = mkdtempSync(join(tmpdir(), 'edgehost-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  return { ...options, storage: directory, backend: 'process' };
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
