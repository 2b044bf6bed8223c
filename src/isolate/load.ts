/** Loads a deployment into a fresh realm: collects its modules, hands the configuration to the guest, evaluates, and waits for the guest's report. */

import type { Exchange } from '../protocol/exchange.js';
import type { LoadAnswer, LoadHead, ScriptFailure } from '../protocol/messages.js';
import { callGuest } from './bridge.js';
import { NODE_FLAG } from './imports/node-modules.js';
import { parser } from './lazy-parser.js';
import { LoadError } from './load-error.js';
import type { InvocationMeter } from './metering/meter.js';
import { threadCpuMs } from './metering/thread-clock.js';
import { type DeployedModule, ModuleGraph } from './modules.js';
import { Ev } from './ops/table.js';
import type { Realm } from './realm.js';
import type { TurnQueue } from './turns.js';

export interface LoadRequest {
  readonly exchange: Exchange;
  readonly load: LoadHead;
  readonly realm: Realm;
  /** The host keeps answers of stateful objects back until what they have written is on disk. */
  readonly holdsAnswers: boolean;
  readonly turns: TurnQueue;
  readonly meter: Pick<InvocationMeter, 'beginCompiling' | 'endCompiling' | 'startupChargedMs'>;
  setModules(modules: ModuleGraph): void;
  /** Resolves when no turn and no operation of the guest is left. */
  quiet(): Promise<void>;
  whenLoaded(listener: (answer: { handlers: readonly string[] } | { failure: ScriptFailure }) => void): void;
}

export async function loadModules(request: LoadRequest): Promise<LoadAnswer> {
  const { load, realm, turns } = request;
  const body = await readAll(request.exchange);
  const modules = cutModules(load, body);
  const main = modules[0];
  if (main === undefined) throw new Error('A deployment without modules');
  const startedMs = nowMs();
  const outcome = new Promise<{ handlers: readonly string[] } | { failure: ScriptFailure }>(resolve => {
    request.whenLoaded(resolve);
  });
  const graph = new ModuleGraph(realm, modules, turns, load.limits.startupMs, load.flags.includes(NODE_FLAG));
  request.setModules(graph);
  callGuest(realm.enter, [
    Ev.Setup,
    JSON.stringify({
      name: load.name,
      env: load.env,
      bindings: load.bindings,
      neededExports: load.neededExports,
      flags: load.flags,
      props: load.props,
      isScript: main.kind === 'script',
      objectIdleMs: load.objectIdleMs,
      holdsAnswers: request.holdsAnswers,
      loaded: load.loaded,
      // The key stays in the host realm.
      run: load.run && { ...load.run, randomKey: undefined },
    }),
  ]);
  // The run evaluates them, in turns of its own.
  if (load.run !== undefined) {
    graph.mainOfRun = main.name;
    // Here and not in the run, whose time it would take.
    parser();
    return { kind: 'loaded', handlers: [], startupTimeMs: 0 };
  }
  try {
    await turns.run(0, await compiled(request, graph, main));
  } catch (error) {
    if (LoadError.isOne(error)) return { kind: 'failed', failure: error.failure };
    throw error;
  }
  const result = await Promise.race([outcome, request.quiet().then(() => NEVER_SETTLES)]);
  if ('failure' in result) return { kind: 'failed', failure: result.failure };
  // Rewriting is not charged to the script up to the time that it may use itself. The rest is, so that no script can make rewriting cost more.
  const rewritingMs = Math.min(graph.rewritingMs, load.limits.startupMs);
  const startupTimeMs = Math.max(0, nowMs() - startedMs - rewritingMs) + request.meter.startupChargedMs;
  return { kind: 'loaded', handlers: result.handlers, startupTimeMs };
}

/** Compiles all of the deployment, which no turn does, under the eyes of the watchdog. Returns what begins to run it. */
async function compiled({ realm, meter }: LoadRequest, graph: ModuleGraph, main: DeployedModule): Promise<() => void> {
  meter.beginCompiling();
  try {
    graph.prepareNode();
    if (main.kind !== 'script') return await graph.link(main.name, 0, 0);
    const run = graph.script(main);
    return () => {
      const thrown = run();
      callGuest(realm.enter, thrown === undefined ? [Ev.Evaluated] : [Ev.EvaluationFailed, 0, thrown.error]);
    };
  } finally {
    meter.endCompiling();
  }
}

/** The global scope may have no timers and requests, so nothing is left that could settle the promise. */
const NEVER_SETTLES: { readonly failure: ScriptFailure } = {
  failure: {
    code: 'EDGE_STARTUP_LIMIT',
    name: 'Error',
    message: 'its top-level await waits for a promise that can never settle',
  },
};

/** CPU time of the thread where it is available, so that contention on the machine is not charged to the function. */
function nowMs(): number {
  return threadCpuMs() ?? performance.now();
}

function readAll(exchange: Exchange): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const read = (): void => {
      for (let chunk = exchange.read(Number.MAX_SAFE_INTEGER); chunk !== undefined; ) {
        chunks.push(Buffer.from(chunk));
        chunk = exchange.read(Number.MAX_SAFE_INTEGER);
      }
      // Most come in one chunk, which need not be copied again: modules keep views of it.
      const [only = Buffer.alloc(0)] = chunks;
      if (exchange.incoming === 'ended') resolve(chunks.length < 2 ? only : Buffer.concat(chunks));
      else if (exchange.incoming === 'failed') reject(new Error(exchange.failReason));
    };
    exchange.listener = { onReply() {}, onData: read, onCredit() {}, onSent() {}, onStop() {}, onFail: read };
    read();
  });
}

function cutModules(load: LoadHead, body: Buffer): DeployedModule[] {
  let at = 0;
  return load.modules.map(({ name, kind, bytes, imports }) => {
    at += bytes;
    const module = { name, kind, bytes: body.subarray(at - bytes, at) };
    return imports === undefined ? module : { ...module, imports };
  });
}
