/**
 * How an engine of a binding is used from another process. A contract stands beside the interface and has an entry for every method: a missing or an
 * extra one does not compile. backend/client makes the remote form of the engine from its contract, and answers the calls of that form.
 */
import type { CallWork } from '../quotas/host/call-work.js';
import type { ServiceBody } from './service.js';

/** An engine as the other process knows it without a call. */
export interface OpenedEngine<State = unknown> {
  readonly name: string;
  /** Undefined for an engine without an identity: a call goes to the engine that has the name then. */
  readonly id: string | undefined;
  /** The result of `state`, and of later calls whose answer is the state. */
  state: State;
}

/**
 * The terms of the calls of one method. Arguments and results cross as values (backend/wire/values.ts), with the exceptions given here. Places count from 0.
 */
export interface MethodTerms {
  /** A call changes nothing, or nothing more when it is repeated: it is made once more when the connection was lost. @default false */
  readonly isSafe?: true;
  /** The place of `work`, the last argument. It is charged in this process, and the other process has its own. */
  readonly work?: number;
  /** The place of the argument that travels as a body; null stays null. */
  readonly body?: number;
  /** The place of the options whose `signal` ends the call. Without a body, it ends the waiting of the call, which still answers: see `whenStopped`. */
  readonly options?: number;
  /** The name of an option that is a function, which is called when the body was read. */
  readonly atEnd?: string;
  /** A body that was not read to its end is cancelled when the call fails. @default false: the caller does so */
  readonly cancelsBody?: true;
  /** The result is an engine, or null. The first argument is its name. */
  readonly opens?: true;
  /**
   * The part of the result that is no value. 'content': its `content`, if it has one, travels as a body. 'contents': the result is a list, and the
   * `content` of each is part of the answer. 'body': its `body`, of `size` bytes, if it is not null. 'stream': the result itself is the body. 'state': the
   * result is a value, and the engine's new state.
   */
  readonly answer?: 'content' | 'contents' | 'body' | 'stream' | 'state';
  /** Changes the arguments before they are sent, without `work`. */
  send?(...args: unknown[]): readonly unknown[];
  /** Undoes the result of a call that had one although the signal ended its waiting. */
  whenStopped?(engine: unknown, result: unknown): Promise<unknown>;
}

/** The methods of an engine or of a directory. */
interface Contract {
  readonly methods: Readonly<Record<string, MethodTerms>>;
}

export interface EngineContract extends Contract {
  /** The value that the other process knows of an engine. */
  state(engine: unknown): unknown;
  /** Makes the members of an engine that are no remote methods, in the other process. */
  local(opened: OpenedEngine): object;
  /** Tells an engine from a later one of the same name. @default there is no such difference */
  identity?(engine: unknown): string;
  /** The error of a call when there is no engine of the name. */
  missing(name: string): Error;
  /** The work of calls of an account that has none. @default undefined */
  readonly defaultWork?: CallWork;
}

/** The contract of an account's `shared.of(account)` of a row: a directory that opens engines, or the one engine of the account. */
export interface DirectoryContract<Directory = unknown> extends Contract {
  /** The engine that methods with `opens` open. */
  readonly engine?: EngineContract;
  /** Never set: the type of the directory. */
  readonly type?: Directory;
}

/** The terms of a method of a part. Its arguments and its result cross as values. */
export interface PartTerms {
  /** A call changes nothing, or nothing more when it is repeated: it is made once more when the connection was lost. @default false */
  readonly isSafe?: true;
  /** The first argument is a name of the application, under which the part keeps something for it until `left` is called with that name. */
  readonly isOwned?: true;
}

/** The contract of a part of the storage that belongs to no account, such as the claims of cron triggers: each method has an entry. */
export interface PartContract<Part = unknown> {
  readonly methods: Readonly<Record<string, PartTerms>>;
  /** Never set: the type of the part. */
  readonly type?: Part;
}

// biome-ignore lint/suspicious/noExplicitAny: any function is a method
type Method = (...args: any) => unknown;
type Arguments<Member> = Parameters<Extract<Member, Method>>;
type Result<Member> = Awaited<ReturnType<Extract<Member, Method>>>;

/** The place of the argument that has the type. */
type Place<Args extends readonly unknown[], Wanted> = {
  [At in keyof Args]-?: At extends `${infer Index extends number}`
    ? NonNullable<Args[At]> extends Wanted
      ? Index
      : never
    : never;
}[number];

type WorkTerms<Args extends readonly unknown[]> = [Place<Args, CallWork>] extends [never]
  ? { readonly work?: never }
  : { readonly work: Place<Args, CallWork> };

type BodyTerms<Args extends readonly unknown[]> = [Place<Args, ServiceBody>] extends [never]
  ? { readonly body?: never; readonly atEnd?: never; readonly cancelsBody?: never }
  : { readonly body: Place<Args, ServiceBody> };

/** The terms of each method, which are typed by its arguments and its result. */
type Methods<Engine, Name extends keyof Engine> = {
  readonly [Each in Name]: Omit<MethodTerms, 'send' | 'whenStopped'> &
    WorkTerms<Arguments<Engine[Each]>> &
    BodyTerms<Arguments<Engine[Each]>> & {
      send?(...args: Arguments<Engine[Each]>): readonly unknown[];
      whenStopped?(engine: Engine, result: Result<Engine[Each]>): Promise<unknown>;
    };
};

interface EngineTerms<Engine, Local extends keyof Engine, State> {
  readonly methods: Methods<Engine, Exclude<keyof Engine, Local>>;
  state(engine: Engine): State;
  local(opened: OpenedEngine<State>): Pick<Engine, Local>;
  identity?(engine: Engine): string;
  missing(name: string): Error;
  readonly defaultWork?: CallWork;
}

/** `Local` are the members that are no remote methods: `local` makes them. */
export function engineContract<Engine, Local extends keyof Engine, State>(
  terms: EngineTerms<Engine, Local, State>,
): EngineContract {
  return terms;
}

export function directoryContract<Directory>(terms: {
  readonly methods: Methods<Directory, keyof Directory>;
  readonly engine?: EngineContract;
}): DirectoryContract<Directory> {
  return terms;
}

export function partContract<Part>(methods: Readonly<Record<keyof Part & string, PartTerms>>): PartContract<Part> {
  return { methods };
}

/** The methods of a directory of engines that have names: opening creates a missing one. */
export const NAMED_ENGINES = {
  open: { isSafe: true, opens: true },
  find: { isSafe: true, opens: true },
  create: {},
  delete: {},
  list: { isSafe: true },
} as const;
