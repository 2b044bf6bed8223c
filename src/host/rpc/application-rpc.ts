/**
 * Calls of a function's methods by the application: `fn.rpc.method(...)`. Values are the same as in callbacks, and a result may have functions and objects that
 * stay in the function, as stubs.
 */

import { cancelBody } from '../../bindings/bodies/cancel-body.js';
import type { GivenBodySource } from '../../bindings/bodies/given-body.js';
import { type CallStream, takeApart, valueBody } from '../../bindings/callbacks/call-body.js';
import type { DecodeOther, ValueParts } from '../../bindings/callbacks/decode.js';
import { countedBytes, decodeInSlices } from '../../bindings/callbacks/decode-in-slices.js';
import { MAX_VALUE_BYTES } from '../../bindings/callbacks/wire.js';
import type { BodyForm, CallAnswer, ReceivedCall } from '../../bindings/function/wire.js';
import { MAX_PATH } from '../../bindings/function/wire.js';
import type { ServiceBody } from '../../bindings/service.js';
import { EdgeError } from '../../quotas/errors.js';
import { type CallWork, measured } from '../../quotas/host/call-work.js';
import { heapBytesOf } from '../../quotas/host/heap-bytes.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { expensiveStructure } from '../../quotas/host/json-structure.js';
import { checkProps } from '../ingress/props.js';
import { checkAdmission } from '../invocation/failures/admission-refusal.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import type { Peer, SharedObject } from '../invocation/peers.js';
import { checkAnswer } from './call-heads.js';
import type { CalleeAnswer } from './call-sink.js';
import { passedObjects } from './passed-objects.js';
import { run, runIn, StartOfCall } from './run-call.js';

/** The entrypoint that the application calls, and how. */
export interface RpcOptions {
  /** The export of the main module. @default 'default' */
  readonly entrypoint?: string;
  /** The value of `ctx.props`: a JSON object. @default {} */
  readonly props?: Readonly<Record<string, unknown>>;
  /** Ends the call, and what its result refers to. */
  readonly signal?: AbortSignal;
}

/** Methods of a function's entrypoint, to be called, and properties, to be awaited. Their results come from the function: check them like a request. */
export interface FunctionRpc {
  // biome-ignore lint/suspicious/noExplicitAny: a method of the function, whose type its author knows
  readonly [name: string]: any;
}

type Send = (path: readonly string[], args: readonly unknown[] | undefined) => Promise<unknown>;

/** @param runner returns the runner of the version that serves when a method is called */
export function functionRpc(runner: () => InvocationTarget, options: RpcOptions = {}): FunctionRpc {
  const { entrypoint, props = {}, signal } = options;
  checkProps('rpcTo()', props);
  const text = JSON.stringify(props);
  const send: Send = async (path, args) => {
    const { context } = runner();
    await checkAdmission(context, 'fail-closed');
    signal?.throwIfAborted();
    return transmit(
      context,
      path,
      args,
      { ...(entrypoint !== undefined && { e: entrypoint }), props: text },
      (head, body) => run(runner(), StartOfCall.method(path, head), body, signal),
    );
  };
  // A proxy has every name.
  return proxyOf(
    undefined,
    name => (name === 'then' ? undefined : property(send, [name])),
    () => undefined,
  ) as FunctionRpc;
}

type Begin = (headFor: (peer: Peer) => string, body: ServiceBody | null) => Promise<CalleeAnswer>;

async function transmit(
  context: InvocationContext,
  path: readonly string[],
  args: readonly unknown[] | undefined,
  target: Pick<ReceivedCall, 'x' | 'e' | 'props'>,
  begin: Begin,
): Promise<unknown> {
  const name = path.at(-1) ?? 'the stub';
  if (path.length > MAX_PATH) throw new TypeError(`RPC pipelined property path is too deep (max ${MAX_PATH}).`);
  const { form, body } = valueBody(args, `The arguments of ${name}()`);
  const shape: ReceivedCall = { ...target, p: path, ...(args === undefined && { g: true }), ...form };
  let callee: Peer | undefined;
  const answer = await begin(peer => {
    callee = peer;
    return JSON.stringify(shape);
  }, body);
  try {
    const head = checkAnswer(answer.head);
    const objects = passedObjects(callee, head.f);
    return await receive(context, head, answer.body, objects, name, callee?.context.share);
  } catch (error) {
    cancelBody(answer.body);
    throw error;
  }
}

/** The value of an answer. @param objects what it refers to; without any, the answer may refer to nothing */
export async function receive(
  context: InvocationContext,
  head: CallAnswer,
  body: ServiceBody | null,
  objects: readonly SharedObject[],
  name: string,
  share: HostShare | undefined,
): Promise<unknown> {
  const isHeld = objects.length > 0;
  const { text, parts, end } = await valueIn(context, head, body, isHeld, name);
  const session = new Session(end);
  const value = await decoded(text, parts, name, share, encoded => {
    const [tag, index] = encoded;
    const object = typeof index === 'number' ? objects[index] : undefined;
    if (tag === 'f' && object !== undefined) return session.stub(object);
    throw new TypeError(
      `The result of ${name}() has a value that only functions can pass to each other: answer with a stream, bytes or an object`,
    );
  });
  if (isHeld) session.received(value);
  return value;
}

/** The value of the text. Its bytes are held against the account of the function until the application gets it. */
async function decoded(
  text: string,
  parts: ValueParts,
  name: string,
  share: HostShare | undefined,
  other: DecodeOther,
): Promise<unknown> {
  const work = { charge: (ms: number) => share?.charge(ms), turn: () => share?.turn() };
  await work.turn();
  // Nothing is held while it waits: results that wait for each other would never be decoded.
  for (let room = share?.room(); room !== undefined; room = share?.room()) await room;
  const encoded = parsed(text, name, work);
  const heldBytes = heapBytesOf(encoded, text.length) + countedBytes(encoded, work);
  share?.bytes.countHeap(heldBytes);
  try {
    return (await decodeInSlices(encoded, parts, work, other)).value;
  } finally {
    share?.bytes.countHeap(-heldBytes);
  }
}

/** @throws TypeError for a text that would take long to parse, SyntaxError */
function parsed(text: string, name: string, work: Pick<CallWork, 'charge'>): unknown {
  return measured(work, () => {
    const tooMuch = expensiveStructure(text);
    if (tooMuch !== undefined) throw new TypeError(`The result of ${name}() has ${tooMuch} are allowed`);
    return JSON.parse(text);
  });
}

interface ReceivedParts {
  readonly text: string;
  readonly parts: ValueParts;
  end(): void;
}

async function valueIn(
  context: InvocationContext,
  { b, s = false }: BodyForm,
  body: ServiceBody | null,
  isHeld: boolean,
  name: string,
): Promise<ReceivedParts> {
  if (b === undefined) {
    const text = await wholeText(body, name);
    return { text, parts: { bytes: [], stream: undefined }, end: () => {} };
  }
  if ((b[0] ?? 0) > MAX_VALUE_BYTES) throw tooLarge(name);
  // Bytes behind the value of a body that is held are not read.
  const rest = isHeld ? 'held' : s ? (source: GivenBodySource) => give(context, source) : 'nothing';
  const { bytes, stream, end } = await takeApart(body, b, rest);
  const [first, ...sequences] = bytes;
  if (first === undefined) throw new TypeError('The answer is malformed');
  return {
    text: Buffer.from(first).toString('utf8'),
    parts: { bytes: sequences, stream },
    end,
  };
}

function give({ account, function: name, share, bodies }: InvocationContext, source: GivenBodySource): CallStream {
  const { stream, body } = bodies.give(`function "${name}" of account "${account}"`, source, share);
  return { stream, fail: error => body.fail(error) };
}

async function wholeText(body: ServiceBody | null, name: string): Promise<string> {
  if (body === null) return '["u"]';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_VALUE_BYTES) throw tooLarge(name);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(name: string): RangeError {
  return new RangeError(
    `The result of ${name}() has more than ${MAX_VALUE_BYTES} bytes as JSON: answer with bytes or a stream`,
  );
}

/** The stubs of one result. The function keeps what they stand for until all have been disposed of. */
class Session {
  readonly #end: () => void;
  readonly #disposals: (() => void)[] = [];
  #live = 0;

  constructor(end: () => void) {
    this.#end = end;
  }

  stub(object: SharedObject): object {
    this.#live++;
    let isDisposed = false;
    const dispose = (): void => {
      if (isDisposed) return;
      isDisposed = true;
      if (--this.#live === 0) this.#end();
    };
    this.#disposals.push(dispose);
    const send: Send = async (path, args) => {
      if (isDisposed) throw new TypeError('RPC stub used after being disposed.');
      const { owner, id } = object;
      if (owner.isOver) throw new EdgeError('EDGE_CANCELED', 'The stub is no longer valid: its function is done');
      return transmit(owner.context, path, args, { x: id, props: '{}' }, (headFor, body) => {
        const start = StartOfCall.method(path, headFor);
        start.ownedBy = owner;
        return runIn(owner, start, body, undefined);
      });
    };
    return proxyOf(
      args => send([], args),
      name => (name === 'then' ? undefined : name === 'dup' ? () => this.stub(object) : property(send, [name])),
      key => (key === DISPOSE ? dispose : undefined),
    );
  }

  /** An object with stubs in it can be disposed of as a whole; one without ends now. */
  received(value: unknown): void {
    if (this.#live === 0) this.#end();
    else if (typeof value === 'object' && value !== null) {
      Object.defineProperty(value, DISPOSE, {
        value: () => {
          for (const dispose of this.#disposals) dispose();
        },
        configurable: true,
        writable: true,
      });
    }
  }
}

/** Node 20 defines it, TypeScript's library of ES2023 does not know it. */
const found: unknown = Reflect.get(Symbol, 'dispose');
const DISPOSE: symbol = typeof found === 'symbol' ? found : Symbol.for('Symbol.dispose');

function property(send: Send, path: readonly string[]): object {
  let value: Promise<unknown> | undefined;
  return proxyOf(
    args => send(path, args),
    name => {
      if (name !== 'then' && name !== 'catch' && name !== 'finally') return property(send, [...path, name]);
      value ??= send(path, undefined);
      const method: unknown = Reflect.get(value, name);
      return typeof method === 'function' ? method.bind(value) : undefined;
    },
    () => undefined,
  );
}

function proxyOf(
  call: ((args: readonly unknown[]) => Promise<unknown>) | undefined,
  get: (name: string) => unknown,
  symbol: (key: symbol) => unknown,
): object {
  return new Proxy(call === undefined ? {} : () => {}, {
    get: (_target, key) => (typeof key === 'symbol' ? symbol(key) : get(key)),
    apply: (_target, _receiver, args: readonly unknown[]) => call?.(args),
  });
}
