/** A function in a guest realm of this thread: real ops, a real channel, and the test as its host. */
import type { ExecutionContext } from 'ava';
import { Isolate } from '../../src/isolate/isolate.js';
import { WatchBlock } from '../../src/isolate/metering/watch-block.js';
import { platformOps } from '../../src/isolate/ops/platform.js';
import { IsolateHandle } from '../../src/pool/host/isolate-handle.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { HostOpens, type LoadAnswer, type LoadHead } from '../../src/protocol/messages.js';
import { loopback } from '../../src/protocol/transports/loopback.js';

const LIMITS = {
  startupMs: 10_000,
  memoryBytes: 2 ** 30,
  cpuOverrunMs: 0,
  cpuBalanceMs: 0,
  cpuMs: { fetch: null, scheduled: null, queue: null, alarm: null, tail: null },
} as const;

/** A call of a service: answer it on the exchange. `body` is what came with the head; a streamed one is read by `readBody`. */
export interface Call {
  /** The invocation that makes it. */
  readonly invocation: number;
  readonly service: number;
  readonly head: {
    readonly method: string;
    readonly args: Readonly<Record<string, unknown>>;
    readonly binding?: string;
  };
  readonly exchange: Exchange;
  readonly body: string;
}

/** "method\nbinding\narguments as JSON". */
function parseCallHead(text: string): Call['head'] {
  const [method = '', binding = '', argumentText = ''] = text.split('\n');
  return { method, args: JSON.parse(argumentText), ...(binding !== '' && { binding }) };
}

export interface GuestOptions {
  readonly env?: Readonly<Record<string, unknown>>;
  readonly bindings?: LoadHead['bindings'];
  readonly onCall?: (call: Call) => void;
}

export interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
  readonly body: string;
  /** What the handler failed with. */
  readonly failure:
    | { readonly code: string; readonly name: string; readonly message: string; readonly stack: string }
    | undefined;
  /** Resolves when everything of the invocation is over. */
  readonly done: Promise<void>;
}

export interface Guest {
  readonly loaded: LoadAnswer;
  readonly logs: readonly string[];
  fetch(request?: {
    url?: string;
    method?: string;
    headers?: readonly string[];
    body?: string | readonly string[];
  }): Promise<Answer>;
  send(kind: HostOpens, head: string): Promise<Answer>;
  /** Like fetch, but the client goes away once the function has called a service. */
  readonly handle: IsolateHandle;
}

/** Loads a classic script. */
export async function createGuest(t: ExecutionContext, script: string, options: GuestOptions = {}): Promise<Guest> {
  const [hostEnd, isolateEnd] = loopback();
  new Isolate(new WatchBlock(), platformOps).connect(isolateEnd, () => {});
  const handle = new IsolateHandle({ lease: 1, transport: hostEnd }, () => {});
  t.teardown(() => handle.end());
  const bytes = Buffer.from(script);
  const loaded = await handle.load(
    {
      name: 'test',
      modules: [{ name: 'test.js', kind: 'script', bytes: bytes.length }],
      env: options.env ?? {},
      bindings: options.bindings ?? [],
      flags: [],
      limits: LIMITS,
    },
    bytes,
  );
  const logs: string[] = [];
  const send = (kind: HostOpens, head: string, body: string | readonly string[] | undefined): Promise<Answer> =>
    invoke(handle, kind, head, body, logs, options.onCall);
  return {
    loaded,
    logs,
    handle,
    fetch: ({ url = 'https://example.com/', method = 'GET', headers = [], body } = {}) =>
      send(HostOpens.Fetch, [method, url, ...headers].join('\n'), body),
    send: (kind, head) => send(kind, head, undefined),
  };
}

/** Runs the body of an asynchronous function in a handler; answers what it returns, by way of JSON. */
export async function inGuest(t: ExecutionContext, body: string, options: GuestOptions = {}): Promise<unknown> {
  const script = `addEventListener('fetch', event => {
    const run = async (request, event) => { ${body} };
    event.respondWith(run(event.request, event).then(value => Response.json(value ?? null)));
  });`;
  const guest = await createGuest(t, script, options);
  const { failure, body: text } = await guest.fetch();
  if (failure !== undefined) throw new Error(`${failure.name}: ${failure.message}`);
  return JSON.parse(text);
}

/** A handler in the form of a script. */
export function handler(body: string): string {
  return `addEventListener('fetch', event => { const { request } = event; event.respondWith((async () => { ${body} })()); });`;
}

function invoke(
  handle: IsolateHandle,
  kind: HostOpens,
  head: string,
  body: string | readonly string[] | undefined,
  logs: string[],
  onCall: ((call: Call) => void) | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let over: () => void = () => {};
    const done = new Promise<void>(resolveDone => {
      over = resolveDone;
    });
    let failure: Answer['failure'];
    let replied: { status: number; head: string } | undefined;
    const pieces: Buffer[] = [];
    const finish = (last: Buffer): void => {
      const [statusText = '', ...headers] = (replied?.head ?? '').split('\n');
      pieces.push(Buffer.from(last));
      resolve({
        status: replied?.status ?? 0,
        statusText,
        headers,
        body: Buffer.concat(pieces).toString(),
        failure,
        done,
      });
    };
    const read = (): void => {
      for (let piece = exchange.read(2 ** 30); piece !== undefined; piece = exchange.read(2 ** 30)) {
        pieces.push(Buffer.from(piece));
      }
      if (exchange.incoming === 'ended') finish(Buffer.alloc(0));
    };
    const isStream = typeof body === 'object';
    const exchange = handle.invoke(kind, head, kind !== HostOpens.Fetch, isStream ? null : (body ?? null), !isStream, {
      onReply: (status, replyHead, replyBody, isComplete) => {
        replied = { status, head: replyHead };
        if (isComplete) finish(replyBody);
        else read();
      },
      onData: () => read(),
      onCredit: () => {},
      onSent: () => {},
      onStop: () => {},
      onFail: reason => reject(new Error(reason)),
      onLog: (_level, text) => logs.push(text),
      onCallRead: () => {},
      checkProgress() {},
      onPong: () => {},
      onPassThrough: () => logs.push('passThroughOnException'),
      onNoRetry: () => logs.push('noRetry'),
      onHandlerFailed: found => {
        failure = found;
      },
      onCall: (call, service, callHead, callBody) => {
        onCall?.({
          invocation: exchange.id,
          service,
          head: parseCallHead(callHead),
          exchange: call,
          body: callBody.toString(),
        });
      },
      onDone: () => over(),
      onLost: reason => reject(new Error(`lost: ${reason}`)),
    });
    if (!isStream) return;
    for (const chunk of body) exchange.write(Buffer.from(chunk));
    exchange.end();
  });
}

/** The body of a call or of an answer, once it has ended. */
export function readBody(exchange: Exchange): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const read = (): void => {
      for (let piece = exchange.read(2 ** 30); piece !== undefined; piece = exchange.read(2 ** 30)) {
        pieces.push(Buffer.from(piece));
      }
      if (exchange.incoming === 'ended') resolve(Buffer.concat(pieces).toString());
      if (exchange.incoming === 'failed') reject(new Error(exchange.failReason));
    };
    exchange.listener = {
      onReply: () => {},
      onData: read,
      onCredit: () => {},
      onSent: () => {},
      onStop: () => {},
      onFail: read,
    };
    read();
  });
}
