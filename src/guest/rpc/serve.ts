/** Calls by other functions: which object is meant, which of its methods may be called, and the answer. */
import type { CallAnswer, ReceivedCall } from '../../bindings/function/wire.ts';
import { BODY_STREAM, Ev } from '../../isolate/ops/table.ts';
import type { NeededExport } from '../../protocol/needed-export.ts';
import { goesWhole } from '../body-out.ts';
import { onEvent } from '../bridge.ts';
import { shortened } from '../errors.ts';
import { fail, replyWith } from '../events/answers.ts';
import { type Base, GuestCallResult } from '../events/call-result.ts';
import { createContext } from '../events/execution-context.ts';
import { type Handlers, handlersOfExport } from '../events/handlers.ts';
import { GuestInvocation, openInvocation } from '../events/invocation.ts';
import { HostBody } from '../host-body.ts';
import {
  arrayJoin,
  construct,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  isArray,
  jsonParse,
  jsonStringify,
  MapCtor,
  mapGet,
  mapSet,
  objectKeys,
  PromiseCtor,
  reflectApply,
  SetCtor,
  setHas,
  TypeErrorCtor,
} from '../primordials.ts';
import { encodeUtf8 } from '../utf8.ts';
import { isUint8Array } from '../web/base/buffers.ts';
import { isCallable, isObject } from '../web/base/idl.ts';
import { ByteReader, createByteStream } from '../web/streams/byte-streams.ts';
import { NO_PARTS, ReceivedStubs, takeValue } from './calls.ts';
import { FunctionEntrypoint, RpcTarget, StatefulObject } from './entrypoint.ts';
import { exportedObject } from './exports.ts';
import { hasPlain, missing, stubState } from './stubs.ts';
import { receiveValue, type SentValue, sendValue } from './values.ts';

let main: object | undefined;
let environment: object = {};
const byEntrypoint = new MapCtor<string, Handlers>();

/** Undefined for a classic script, which has no entrypoints. */
export function setMainModule(namespace: object | undefined, env: object): void {
  main = namespace;
  environment = env;
}

/** Whether something can be called that is no handler of an event. */
export function hasEntrypoint(namespace: object | undefined): boolean {
  return hasExport(namespace, isEntrypointClass) || hasObjects(namespace);
}

/** Whether there are classes of stateful objects. */
export function hasObjects(namespace: object | undefined): boolean {
  return hasExport(namespace, isObjectClass);
}

/** The defect of the first export that a binding names and the main module lacks. */
export function complaintAboutExports(
  namespace: object | undefined,
  needed: readonly NeededExport[],
): string | undefined {
  for (let i = 0; i < needed.length; i++) {
    const { binding = '', name = '', kind = 'entrypoint' } = needed[i] ?? {};
    const isThere = namespace !== undefined && hasOwn(namespace, name);
    if (kind === 'entrypoint' ? isThere : isThere && isClass((namespace as { [name: string]: unknown })[name]))
      continue; // a namespace can be read from
    const what = kind === 'entrypoint' ? 'export' : 'class';
    const rest = kind === 'object' && isThere ? 'is exported, but is no class' : 'is not exported';
    return `The binding ${binding} names the ${what} "${name}", which ${rest}. The main module exports ${exportsOf(namespace)}`;
  }
  return undefined;
}

/** The names of what the main module exports, for messages. */
export function exportsOf(namespace: object | undefined): string {
  const names = namespace === undefined ? [] : objectKeys(namespace);
  return names.length === 0 ? 'nothing' : shortened(arrayJoin(names, ', '));
}

function hasExport(namespace: object | undefined, matches: (exported: unknown) => boolean): boolean {
  if (namespace === undefined) return false;
  const names = objectKeys(namespace);
  for (let i = 0; i < names.length; i++) {
    if (matches((namespace as { [name: string]: unknown })[names[i] ?? ''])) return true; // a namespace can be read from
  }
  return false;
}

/** The handlers of an export. @throws TypeError when there is no such export */
export function handlersOfEntrypoint(name: string): Handlers {
  const known = mapGet(byEntrypoint, name);
  if (known !== undefined) return known;
  const handlers = handlersOfExport(mainExport(name));
  mapSet(byEntrypoint, name, handlers);
  return handlers;
}

export function mainExport(name: string): unknown {
  if (main !== undefined && hasOwn(main, name)) return (main as { [name: string]: unknown })[name]; // a namespace can be read from
  throw new TypeErrorCtor(
    main === undefined
      ? 'A classic script has no entrypoints: deploy an ES module'
      : `The function has no entrypoint "${name}": its main module does not export it`,
  );
}

/** A class that does not extend StatefulObject has instances too, which answer fetch() alone. */
function isClass(value: unknown): value is new () => object {
  return typeof value === 'function' && isObject(value.prototype);
}

/** Whether the class is one of objects that may be called. */
export function isObjectClass(value: unknown): boolean {
  return typeof value === 'function' && isObject(value.prototype) && isOf(value.prototype, StatefulObject.prototype);
}

function isEntrypointClass(value: unknown): value is new (context: unknown, env: unknown) => object {
  if (typeof value !== 'function') return false;
  const prototype: unknown = value.prototype;
  return isObject(prototype) && isOf(prototype, FunctionEntrypoint.prototype);
}

/** Whether the object inherits from the prototype. */
export function isOf(object: object, prototype: object): boolean {
  for (let at = getPrototypeOf(object); at !== null; at = getPrototypeOf(at)) if (at === prototype) return true;
  return false;
}

/** Answers a call of what a stateful object has sent by reference; false when none has. */
let answerForObject: (id: number, call: ReceivedCall, body: HostBody | null) => boolean = () => false;

export function onCallOfTarget(answer: typeof answerForObject): void {
  answerForObject = answer;
}

onEvent(Ev.Rpc, (id: number, text: string, bodySize: number) => {
  const call: ReceivedCall = jsonParse(text); // the host's
  const body = bodySize === 0 ? null : new HostBody(id, bodySize < 0 ? BODY_STREAM : bodySize);
  if ((call.x !== undefined || call.y !== undefined) && answerForObject(id, call, body)) return;
  const invocation = new GuestInvocation(id);
  invocation.propsText = call.props;
  if (call.y === undefined) void answerCall(invocation, call, body, undefined);
  else goOnBy(invocation, call.y, body, base => void answerCall(invocation, call, body, undefined, base));
});

/** Continues when the result of an earlier call is there, in a turn of the invocation. Without such a result the caller continues by itself. */
export function goOnBy(
  invocation: GuestInvocation,
  earlier: number,
  body: HostBody | null,
  goOn: (base: Base) => void,
): void {
  const answer = (base: Base | undefined): void => {
    if (base !== undefined) goOn(base);
    else {
      body?.stop();
      replyWith(invocation, '{"l":true}', '["u"]');
    }
  };
  // Later calls may wait for this result before the invocation has begun.
  invocation.result = new GuestCallResult();
  const result = openInvocation(earlier)?.result;
  if (result === undefined) answer(undefined);
  else result.when(invocation, answer);
}

/** How a call reaches a stateful object. */
export interface ObjectTurn {
  /** The arguments are there. Resolves with the object when it takes the call; undefined: the call is one of what it has sent by reference. */
  begin(): Promise<object | undefined>;
  /** Calls `answer` when the answer may leave, if it still may. `isWhole`: all of it leaves at once. */
  finish(answer: () => void, isWhole: boolean): void;
}

export async function answerCall(
  invocation: GuestInvocation,
  call: ReceivedCall,
  body: HostBody | null,
  turn: ObjectTurn | undefined,
  base?: Base,
): Promise<void> {
  invocation.result ??= new GuestCallResult();
  const outcome = invocation.result;
  const finish = (answer: () => void, isWhole: boolean): void =>
    turn === undefined ? answer() : turn.finish(answer, isWhole);
  const stubs = new ReceivedStubs(call.f, () => {});
  try {
    // An object takes its events in turn, and none before it is queued.
    const isPlain = turn === undefined && body?.isComplete === true && call.b === undefined;
    const { json, parts } = isPlain ? { json: body.text(), parts: NO_PARTS } : await takeValue(body, call, false);
    const args = receiveValue(json, parts, index => stubs.stub(index));
    const object = turn === undefined ? undefined : await turn.begin();
    const returned = run(invocation, call, args, object, base);
    const result = turn !== undefined || isObject(returned) ? await returned : returned;
    // A function duplicates the stubs that it keeps; an answer with a stub in it refers to the stub itself.
    const sent = sendValue(result, () => invocation, true);
    stubs.dispose();
    outcome.set(result);
    const isWhole = sent.references.length === 0 && (sent.body === null || goesWhole(sent.body));
    finish(() => reply(invocation, sent, stubs.kept), isWhole);
  } catch (error) {
    stubs.dispose();
    outcome.end();
    finish(() => fail(invocation, error, 'EDGE_HANDLER_THREW'), true);
  }
}

function reply(invocation: GuestInvocation, { form, references, body }: SentValue, kept: readonly number[]): void {
  const { b, s } = form;
  const head: CallAnswer = {
    ...form,
    ...(references.length > 0 && { f: references }),
    ...(kept.length > 0 && { k: kept }),
  };
  const isPlain = b === undefined && s !== true && references.length === 0 && kept.length === 0;
  const text = isPlain ? '{}' : jsonStringify(head);
  if (body === null) replyWith(invocation, text, '["u"]');
  else if (references.length === 0) replyWith(invocation, text, body);
  else replyWith(invocation, text, held(body));
}

/** The body continues behind the value: it ends when the caller has disposed of everything it received. */
function held(body: NonNullable<SentValue['body']>): ReturnType<typeof createByteStream> {
  let first = typeof body === 'string' ? encodeUtf8(body) : isUint8Array(body) ? body : undefined;
  const reader = typeof body === 'string' || isUint8Array(body) ? undefined : new ByteReader(body);
  return createByteStream({
    async pull() {
      const chunk = first ?? (await reader?.next());
      first = undefined;
      return chunk ?? new PromiseCtor<never>(() => {});
    },
    cancel: reason => reader?.cancel(reason),
  });
}

function run(
  invocation: GuestInvocation,
  { x, e = 'default', p: path, g: isRead }: ReceivedCall,
  args: unknown,
  object: object | undefined,
  base: Base | undefined,
): unknown {
  let value: unknown;
  let receiver: unknown;
  let isHandlers = false;
  if (object !== undefined) value = object;
  else if (base !== undefined) value = base.value;
  else if (x === undefined) {
    const exported = mainExport(e);
    const context = createContext(invocation);
    if (isEntrypointClass(exported)) value = construct(exported, [context, environment]);
    else if (typeof exported === 'object' && exported !== null) {
      isHandlers = true;
      value = exported;
    } else {
      throw new TypeErrorCtor(
        `The entrypoint "${e}" takes no calls: it is no class that extends FunctionEntrypoint, and no object`,
      );
    }
    if (path.length === 1 && isHandlers) return callHandler(value, path[0] ?? '', isRead === true, args, context);
  } else {
    value = exportedObject(x);
    if (value === undefined)
      throw new TypeErrorCtor('The object is no longer there: the call that it came with is over');
  }
  for (let i = 0; i < path.length; i++) {
    receiver = value;
    value = memberOf(value, path[i] ?? '');
  }
  if (isRead === true) return value;
  if (!isCallable(value)) throw new TypeErrorCtor(`"${path[path.length - 1] ?? 'the stub'}" is not a function.`);
  return reflectApply(value, receiver, isArray(args) ? args : []);
}

/** A method of an object of handlers: it gets one argument, the environment and the context. */
function callHandler(handlers: unknown, name: string, isRead: boolean, args: unknown, context: unknown): unknown {
  checkReserved(name);
  const method =
    isObject(handlers) && hasOwn(handlers, name) ? getOwnPropertyDescriptor(handlers, name)?.value : undefined;
  if (isRead || !isCallable(method)) throw missing(name);
  if (!isArray(args) || args.length !== 1) {
    throw new TypeErrorCtor(
      `Cannot call the handler function "${name}" over RPC with ${isArray(args) ? args.length : 0} arguments: a handler of an object takes one; extend FunctionEntrypoint for others`,
    );
  }
  return reflectApply(method, handlers, [args[0], environment, context]);
}

const RESERVED = new SetCtor<string>();
for (const name of [
  'fetch',
  'connect',
  'constructor',
  'dup',
  'alarm',
  'webSocketMessage',
  'webSocketClose',
  'webSocketError',
]) {
  RESERVED.add(name);
}

function checkReserved(name: string): void {
  if (setHas(RESERVED, name)) {
    throw new TypeErrorCtor(`'${name}' is a reserved method and cannot be called over RPC.`);
  }
}

/** Instances of RPC classes expose the members of their prototypes, other objects their own. */
function memberOf(object: unknown, name: string): unknown {
  if (!isObject(object)) throw missing(name);
  if (stubState(object) !== undefined) return (object as { [name: string]: unknown })[name]; // a stub has every name
  const isTarget =
    isOf(object, RpcTarget.prototype) ||
    isOf(object, FunctionEntrypoint.prototype) ||
    isOf(object, StatefulObject.prototype);
  if (!isTarget) {
    if (!hasPlain(object, name)) throw missing(name);
    return (object as { [name: string]: unknown })[name]; // every object can be read from
  }
  checkReserved(name);
  for (let at = getPrototypeOf(object); at !== null && !isRoot(at); at = getPrototypeOf(at)) {
    const descriptor = getOwnPropertyDescriptor(at, name);
    if (descriptor === undefined) continue;
    return descriptor.get === undefined ? descriptor.value : reflectApply(descriptor.get, object, []);
  }
  throw missing(name);
}

function isRoot(prototype: object): boolean {
  return (
    prototype === RpcTarget.prototype ||
    prototype === FunctionEntrypoint.prototype ||
    prototype === StatefulObject.prototype ||
    prototype === ObjectPrototype
  );
}

const ObjectPrototype: object = Object.prototype;
