/**
 * How calls of functions travel between a function and the host. A value is JSON (bindings/callbacks/wire.ts) and byte sequences; both are in the body, so
 * that the host passes them on without reading them. References to objects of others are beside them, because the host must read these.
 */

/** The methods of a service binding on the wire: a request, and a call of a method or a read of a property. */
export const FETCH = 'fetch';
export const CALL = 'call';

/** The form of a body with a value: the JSON and the byte sequences one after the other, then perhaps the bytes of a stream. */
export interface BodyForm {
  /** The lengths of the JSON and of each byte sequence; absent when all of the body is the JSON. */
  readonly b?: readonly number[];
  /** The rest of the body is the stream of the value. */
  readonly s?: boolean;
}

/** A reference as its sender has it: an object of its own, `x`, or a stub that it has received, `i`. */
export type SentReference = { readonly x: number } | { readonly i: number };

/** The arguments of a call, by the function that calls. */
export interface MethodCallArguments extends BodyForm {
  /** The stub that is called; absent for the entrypoint of a binding, and for a result. */
  readonly i?: number;
  /** The call, by its `n`, on whose result this one continues: it may still be in flight. */
  readonly q?: number;
  /** The number by which others may name its result, chosen by the caller; absent for a read. */
  readonly n?: number;
  /** Names from there to the method or the property. */
  readonly p: readonly string[];
  /** Set when the property is read, and nothing is called. */
  readonly g?: true;
  readonly f?: readonly SentReference[];
}

/** The same for the function called. */
export interface ReceivedCall extends BodyForm {
  /** An object that it has sent; absent for its entrypoint. */
  readonly x?: number;
  /** Its invocation whose result is called. */
  readonly y?: number;
  readonly p: readonly string[];
  readonly g?: true;
  /** The export that is its entrypoint. */
  readonly e?: string;
  /** JSON of `ctx.props`. */
  readonly props: string;
  /** Its numbers of the references. */
  readonly f?: readonly number[];
}

/** The head of the answer, by the function called. */
export interface CallAnswer extends BodyForm {
  readonly f?: readonly SentReference[];
  /** Stubs among its arguments that it keeps. */
  readonly k?: readonly number[];
  /** The result that was to be called is no longer here: it has been sent. */
  readonly l?: true;
}

/** The head of the answer for the caller: a thrown error, a note that the caller has the result itself by now, or a value. */
export type ReceivedAnswer =
  | { readonly e: readonly [name: string, message: string] }
  | { readonly l: true }
  | (BodyForm & {
      readonly f?: readonly number[];
      /** Objects that it has sent with the call, and that others keep. */
      readonly k?: readonly number[];
    });

/** Names from an entrypoint or a stub to a method. */
export const MAX_PATH = 64;
/** References in one value. */
export const MAX_REFERENCES = 1000;
/** JSON and byte sequences of one value. A stream has no bound. */
export const MAX_CALL_BYTES = 32 * 1024 * 1024;
