/** Runs one test in an isolate of its own. */
import { MessageChannel, Worker } from 'node:worker_threads';
import type { Egress } from '../../src/bindings/egress/egress.js';
import { WatchBlock } from '../../src/isolate/metering/watch-block.js';
import { IsolateHandle } from '../../src/pool/host/isolate-handle.js';
import { HostOpens } from '../../src/protocol/messages.js';
import { portTransport } from '../../src/protocol/transports/transport.js';
import type { RunResult } from './program.js';
import { answerCall, createWorld } from './server.js';

const LIMITS = {
  startupMs: 60_000,
  memoryBytes: 2 ** 31,
  cpuOverrunMs: 0,
  cpuBalanceMs: 0,
  cpuMs: { fetch: null, scheduled: null, queue: null, alarm: null, tail: null },
} as const;

/** Answers with the results; rejects when there are none, because the program failed, ended its isolate or took too long. */
export async function runProgram(source: string, timeoutMs: number): Promise<RunResult> {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./isolate-worker.js', import.meta.url), {
    workerData: { connection: { port: port2 }, watch: new WatchBlock().buffer },
    transferList: [port2],
    execArgv: ['--experimental-vm-modules', '--no-warnings'],
    stderr: true,
    stdout: true,
  });
  const handle = new IsolateHandle({ lease: 1, transport: portTransport(port1) }, () => {});
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no results after ${timeoutMs} ms`)), timeoutMs);
    });
    const died = new Promise<never>((_, reject) => {
      worker.on('error', reject);
      worker.on('exit', code => reject(new Error(`the isolate's thread ended with code ${code}`)));
    });
    late.catch(() => {});
    died.catch(() => {});
    return await Promise.race([late, died, run(handle, source)]);
  } finally {
    clearTimeout(timer);
    handle.end();
    await worker.terminate();
  }
}

async function run(handle: IsolateHandle, source: string): Promise<RunResult> {
  const bytes = Buffer.from(source);
  const answer = await handle.load(
    {
      name: 'test',
      modules: [{ name: 'test.js', kind: 'script', bytes: bytes.length }],
      env: {},
      bindings: [],
      flags: [],
      limits: LIMITS,
    },
    bytes,
  );
  if (answer.kind === 'failed') throw new Error(`loading failed: ${answer.failure.name}: ${answer.failure.message}`);
  const world = createWorld();
  try {
    return JSON.parse(await invoke(world, handle));
  } finally {
    await world.close();
  }
}

function invoke(world: Egress, handle: IsolateHandle): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let failure = '';
    const read = (): void => {
      for (let piece = exchange.read(2 ** 30); piece !== undefined; piece = exchange.read(2 ** 30)) {
        pieces.push(Buffer.from(piece));
      }
      if (exchange.incoming === 'ended') resolve(Buffer.concat(pieces).toString('utf8'));
    };
    const exchange = handle.invoke(HostOpens.Fetch, 'GET\nhttp://test/', true, null, true, {
      onReply: (status, _head, body, isComplete) => {
        if (status !== 200) reject(new Error(failure || `answered with status ${status}`));
        else if (isComplete) resolve(body.toString('utf8'));
        else read();
      },
      onData: () => read(),
      onCredit: () => {},
      onSent: () => {},
      onStop: () => {},
      onFail: reason => reject(new Error(reason)),
      onLog: (_level, text) => {
        if (process.env.WPT_LOG === '1') console.log(text);
      },
      onCallRead: () => {},
      checkProgress() {},
      onPong: () => {},
      onPassThrough: () => {},
      onNoRetry: () => {},
      onHandlerFailed: found => {
        failure = `${found.name}: ${found.message}`;
      },
      onCall: (call, _service, head, body, isComplete) => {
        if (isComplete) call.buffer(body);
        void answerCall(world, call, head, isComplete);
      },
      onDone: () => {},
      onLost: (reason, detail) => reject(new Error(`the isolate was lost: ${reason} ${detail}`)),
    });
  });
}
