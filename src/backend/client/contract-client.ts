/** Makes the remote form of an account's directory, and of the engines that it opens, from their contract. */

import { cancelBody } from '../../bindings/bodies/cancel-body.js';
import { chargedBody } from '../../bindings/bodies/charged-body.js';
import type { DirectoryContract, EngineContract, MethodTerms, OpenedEngine } from '../../bindings/contract.js';
import type { ServiceBody } from '../../bindings/service.js';
import type { Channel } from '../../protocol/channel.js';
import { guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { type AtEnd, type ContentAnswer, ReplyStatus, TRAILER, type WholeContent } from '../wire/calls.js';
import { ApplicationSignal } from '../wire/messages.js';
import { bodyOf, type CallReply, type OutgoingCall } from '../wire/outgoing-call.js';
import { packHead, packValue } from '../wire/packets.js';
import { sendBody } from '../wire/send-body.js';
import { remoteContent, wholeContent } from './remote-content.js';
import { isLost, type RemoteLink } from './remote-link.js';

/** The part that the methods of one remote object share. */
interface Target {
  readonly link: RemoteLink;
  readonly row: string;
  readonly account: string;
  /** The contract of the engines that a directory opens. */
  readonly engine: EngineContract | undefined;
  /** Undefined for a directory. */
  readonly opened: OpenedEngine | undefined;
  /** The first argument of each call. */
  readonly address: unknown;
}

interface RemoteCall {
  readonly target: Target;
  readonly name: string;
  readonly terms: MethodTerms;
  readonly args: readonly unknown[];
  readonly work: CallWork | undefined;
}

type RemoteMethods = Record<string, (...args: unknown[]) => unknown>;

/** @param row the name of the row that has the contract */
export function remoteDirectory<Directory>(
  link: RemoteLink,
  row: string,
  { methods, engine }: DirectoryContract<Directory>,
  account: string,
): Directory {
  const target: Target = { link, row, account, engine, opened: undefined, address: account };
  return remoteMethods(target, `${row}.directory`, methods) as Directory; // the contract has each of its methods
}

function remoteEngine(directory: Target, contract: EngineContract, name: string, answer: unknown): object {
  const [state, id] = answer as [state: unknown, id?: string]; // as the other end answers methods that open an engine
  const { link, row, account } = directory;
  const opened: OpenedEngine = { name, id, state };
  const address = { account, name, ...(id !== undefined && { id }) };
  const target: Target = { link, row, account, engine: undefined, opened, address };
  return Object.assign(remoteMethods(target, `${row}.engine`, contract.methods), contract.local(opened));
}

function remoteMethods(target: Target, prefix: string, methods: Readonly<Record<string, MethodTerms>>): RemoteMethods {
  const remote: RemoteMethods = {};
  for (const [method, terms] of Object.entries(methods)) {
    const make = terms.answer === 'stream' ? readStream : terms.body === undefined ? callValue : callWithBody;
    const name = `${prefix}.${method}`;
    remote[method] = (...args) => make({ target, name, terms, ...sentOf(terms, args) }, remote);
  }
  return remote;
}

/** Parts the arguments that cross from the work, which does not. */
function sentOf(terms: MethodTerms, args: readonly unknown[]): Pick<RemoteCall, 'args' | 'work'> {
  const sent = terms.work === undefined ? args : args.slice(0, terms.work);
  return {
    args: terms.send === undefined ? sent : terms.send(...sent),
    work: terms.work === undefined ? undefined : (args[terms.work] as CallWork | undefined), // by the types of the contract
  };
}

async function callValue(call: RemoteCall, remote: RemoteMethods): Promise<unknown> {
  const { target, name, terms, work } = call;
  const { link } = target;
  const { signal, args } = withoutSignal(call);
  signal?.throwIfAborted();
  work?.charge(HOST_COSTS.callMs);
  const { head, body } = packValue([name, target.address, ...args]);
  const run = async (channel: Channel): Promise<unknown> => {
    const outgoing = link.begin(channel, head, body);
    if (signal === undefined) return answerOf(call, await outgoing.reply);
    const result = await untilStopped(call, channel, outgoing, signal);
    if (!signal.aborted) return result;
    await terms.whenStopped?.(remote, result);
    throw signal.reason;
  };
  return link.retried(terms.isSafe === true, run);
}

/** The signal ends the waiting, and the answer comes all the same. */
async function untilStopped(
  call: RemoteCall,
  channel: Channel,
  outgoing: OutgoingCall,
  signal: AbortSignal,
): Promise<unknown> {
  const stop = guarded((): void => channel.signal(outgoing.exchange.id, ApplicationSignal.Stop, ''));
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  try {
    return await answerOf(call, await outgoing.reply);
  } catch (error) {
    throw signal.aborted && !isLost(error) ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function* readStream({ target, name, terms, args }: RemoteCall): AsyncGenerator<Uint8Array> {
  const { head, body } = packValue([name, target.address, ...args]);
  const reply = await target.link.retried(terms.isSafe === true, async channel => {
    const answered = await target.link.begin(channel, head, body).reply;
    await target.link.resultOf(answered);
    return answered;
  });
  if (reply.body instanceof Uint8Array) yield reply.body;
  else yield* reply.body;
}

async function callWithBody(call: RemoteCall): Promise<unknown> {
  const { args, terms } = call;
  const body = args[terms.body ?? 0] as ServiceBody | null; // by the types of the contract
  try {
    return await write(call, body);
  } catch (error) {
    if (terms.cancelsBody === true) cancelBody(body);
    throw error;
  }
}

/** The body is ended when it is not read to its end. Rejects with the reason of the signal when that fires. */
async function write(call: RemoteCall, body: ServiceBody | null): Promise<unknown> {
  const { target, name, terms, work } = call;
  const { signal, args } = withoutSignal(call);
  signal?.throwIfAborted();
  work?.charge(HOST_COSTS.callMs);
  const atEnd = await takeAtEnd(terms, args, body);
  args[terms.body ?? 0] = body === null ? null : true;
  const head = packHead([name, target.address, ...args]);
  const channel = await target.link.channel();
  const outgoing = target.link.begin(channel, head, bodyOf(body ?? NO_BYTES));
  if (body !== null && !(body instanceof Uint8Array)) {
    const charged = work === undefined ? body : chargedBody(body, work, HOST_COSTS.sentMbMs);
    sendBody(channel, outgoing, charged, atEnd);
  }
  const abort = guarded((): void => outgoing.giveUp(signal?.reason));
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await answerOf(call, await outgoing.reply);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** A copy of the arguments in which the options have no signal, which does not cross. */
function withoutSignal({ terms, args: given }: RemoteCall): { signal: AbortSignal | undefined; args: unknown[] } {
  const args = [...given];
  if (terms.options === undefined) return { signal: undefined, args };
  const { signal, ...options } = args[terms.options] as { readonly signal?: AbortSignal }; // by the types of the contract
  args[terms.options] = options;
  return { signal, args };
}

/** The option that is a function stays here: its result goes before the end of the body, or with the arguments when the body is all there. */
async function takeAtEnd(
  { options: place, atEnd: name }: MethodTerms,
  args: unknown[],
  body: ServiceBody | null,
): Promise<AtEnd | undefined> {
  if (place === undefined || name === undefined) return undefined;
  const options = args[place] as Readonly<Record<string, AtEnd | undefined>>; // by the types of the contract
  const { [name]: atEnd, ...rest } = options;
  args[place] = rest;
  if (atEnd === undefined) return undefined;
  const result = body === null || body instanceof Uint8Array ? await atEnd() : TRAILER;
  if (result !== undefined) args[place] = { ...rest, [name]: result };
  return atEnd;
}

async function answerOf({ target, terms, args, work }: RemoteCall, reply: CallReply): Promise<unknown> {
  const value = await target.link.resultOf(reply);
  const { engine, opened } = target;
  if (terms.opens === true && engine !== undefined)
    return value === null ? null : remoteEngine(target, engine, String(args[0]), value);
  if (terms.answer === 'contents') return (value as (WholeContent | null)[]).map(each => each && wholeContent(each)); // as the other end answers
  if (terms.answer === 'state' && opened !== undefined) opened.state = value;
  if (reply.status !== ReplyStatus.ResultWithBody) return value;
  const { rest, offset, length } = value as ContentAnswer; // as the other end answers with a body
  const content = remoteContent(offset, length, reply.body, work);
  return terms.answer === 'body' ? { ...rest, body: content.open() } : { ...rest, content };
}
