/**
 * The numbers of the bridge, the only constants both realms share. `Op`: the calls from the guest to the host realm, by `hostCall(op, a, b,
 * c, d)`. `Ev`: the events from the host realm to the guest, by `enter(ev, a, b, c, d)`.
 *
 * Arguments and results are undefined, booleans, numbers, strings, or byte arrays that the guest allocated.
 * "exchange" ids name an invocation (even, opened by the host) or a call to a service (odd, opened by the isolate).
 */

/** hostCall answers this when the op failed; `Op.LastError` then gives the reason. No op has it as a result. */
export const FAILED = -0x7fffffff;

/** Body sizes on the bridge: the number of bytes when all of them are there, else one of these. */
export const BODY_NONE = -1;
export const BODY_STREAM = -2;

/** The answer of Op.BodyAvailable that is not a number of bytes. */
export const BODY_ENDED = -1;

export enum Op {
  /** () => "Name\nmessage\ncode" of the error that made the last op fail. */
  LastError = 0,
  /** (target: bytes) => bytes copied. Fetches the byte result of the op or event just before. */
  Take,
  /** (level: 0 debug, 1 info, 2 log, 3 warn, 4 error; text) */
  Log,
  /** () => milliseconds since the isolate's time origin, coarse. */
  Now,
  /** (target: bytes): fills with random bytes. */
  Random,
  /** (timer id, delay ms, TimerFlag) */
  TimerStart,
  /** (timer id) */
  TimerClear,
  /** (): the entry module has run; the handlers are registered. (kinds: of "fetch,scheduled,queue,alarm,tail") */
  Loaded,
  /** (text: JSON of name, message, stack): loading failed. */
  LoadFailed,
  /** (index of a module) => number of bytes: the content of a data module, for Op.Take. */
  ModuleBytes,
  /** (referrer, specifier, type: an import attribute or undefined) => import id: import() of a module of the deployment; answered through the loader. */
  Import,

  /** (invocation, status, head, body text or undefined): the whole answer. */
  Reply,
  /** (invocation, status, head, body bytes): the whole answer. */
  ReplyBytes,
  /** (invocation, status, head): the head; the body follows by BodyWrite and BodyEnd on the same exchange. */
  ReplyStream,
  /** (invocation, text: JSON of name, message, stack, code): the handler failed. */
  ReplyFailed,
  /** (invocation): passThroughOnException was called. */
  PassThrough,
  /** (invocation): noRetry was called. */
  NoRetry,
  /** (invocation, text as in ReplyFailed): a promise given to waitUntil was rejected, and that fails the event. Once, and not with ReplyFailed. */
  WaitFailed,
  /** (invocation, text as in ReplyFailed): a promise given to waitUntil was rejected, for tails. The event continues. */
  WaitRejected,
  /** (invocation): all that waitUntil was given has settled. */
  Done,
  /** (invocation): waitUntil was called, see held-work.ts. Fails for the handler of a client that is gone. */
  Hold,
  /** (invocation): the client is gone, and only the promises given to waitUntil continue. */
  Abandon,
  /** (invocation, QueueWord, index of the message, seconds of delay or undefined): what becomes of messages of its batch. */
  QueueWord,
  /** (invocation): function code has the signal of the request, and may wait for the client to go. */
  AwaitClient,

  /** (ServiceId, head text: "method\nbinding\narguments as JSON", body text or undefined) => exchange */
  Call,
  /** (service, head text, body bytes) => exchange */
  CallBytes,
  /** (service, head text) => exchange; the body follows by BodyWrite and BodyEnd. */
  CallStream,
  /** (exchange): the call is given up. */
  CallAbort,

  /** (exchange, chunk) => bytes that may still be written before Ev.Credit; zero or less: wait for it. */
  BodyWrite,
  /** (exchange) */
  BodyEnd,
  /** (exchange, message): the body that the guest writes has failed. */
  BodyFail,
  /** (exchange) => bytes ready to be read; 0: Ev.Data follows when there are some; BODY_ENDED. Fails as the body has failed. */
  BodyAvailable,
  /** (exchange, target: bytes) => bytes copied and consumed. */
  BodyRead,
  /** (exchange) => the whole body as text, UTF-8 decoded without its BOM; only when all of it is there. */
  BodyText,
  /** (exchange): the guest wants no more of the body. */
  BodyStop,
  /** (from exchange, to exchange): the rest of one body becomes the other, without passing the guest. */
  BodyPipe,

  /** Ops of the web platform, by file in src/isolate/ops. */
  /** (url, base or undefined) => href, or undefined when it is not a URL. */
  UrlParse,
  /** (url, base or undefined) => 1 when it is a URL, else 0. */
  UrlCanParse,
  /** (href, UrlField, value) => href with that component set by the rules of the URL class. */
  UrlUpdate,
  /** (label) => name of the encoding, or undefined. */
  TextDecoderLabel,
  /** (bytes, encoding, DecodeFlag) => text of the whole. */
  TextDecode,
  /** (encoding, DecodeFlag, token) => decoder, for encodings whose state does not follow from the last bytes. */
  TextDecoderOpen,
  /** (decoder, bytes, 1 for the last, which closes it) => text. */
  TextDecoderChunk,
  /** (decoder) */
  TextDecoderClose,
  /** (text, target: bytes) => characters read; as many as there is room for. */
  TextEncode,
  /** () => bytes that the last TextEncode wrote. */
  TextEncodeWritten,
  /** (text) => its length in UTF-8. */
  TextLength,
  Base64Encode,
  Base64Decode,
  /** (bytes of a whole buffer): detaches the buffer, where the language cannot. */
  Detach,
  /** (algorithm, token) => digest */
  DigestOpen,
  /** (digest, bytes) */
  DigestUpdate,
  /** (digest) => number of bytes, for Op.Take. Closes it. */
  DigestFinish,
  /** (digest) */
  DigestClose,
  /** (bytes, bytes of the same length) => 1 when they are equal, else 0. */
  TimingSafeEqual,
  /** () => a random UUID, version 4. */
  RandomUuid,
  /** (method of SubtleCrypto, JSON of its arguments, bytes that they refer to, token of the keys made) => async op, see ops/web/subtle.ts. */
  CryptoOp,
  /** (CompressFormat, 1 to decompress) => codec */
  CompressOpen,
  /** (codec, bytes, 1 for the last) => async op: bytes of output; call it again without bytes until it returns none. */
  CompressWrite,
  /** (codec) */
  CompressClose,
  /** () => number of the remembered stack, 0 when no stack was taken. */
  StackCapture,
  /** (number) => its frames, "\n    at ..." each; empty when they are forgotten. */
  StackText,

  /** () => the invocation whose turn it is; 0 at start-up. */
  CurrentInvocation,

  /** (exchange): its bodies belong to a WebSocket, and the next message is wanted. Ev.SocketMessage follows, once. */
  SocketNext,
  /** (exchange, target: bytes) => bytes copied of the message that Ev.SocketMessage has announced; 0: Ev.Data follows. */
  SocketRead,
  /** (exchange, RecordKind, text) => credit, as in BodyWrite. */
  SocketText,
  /** (exchange, RecordKind, bytes) => credit, as in BodyWrite. */
  SocketBytes,
  /** (invocation): Ev.Resume follows, in a turn of the invocation. Fails when it is over. */
  Resume,
  /** (ServiceId, head text as in Call, body bytes or undefined) => "length of the body\nhead" of the answer, the body for Op.Take. The thread waits for it. */
  CallBlocking,
  /** (text: JSON of TimerDue in bindings/objects/wire.ts): a timer of an object is due that has outlived its event. */
  TimerDue,

  /** () => how the code of the run returns something; undefined unless it ends in a value that it does not return. */
  RunHint,

  /** () => ContextCarrier. The guest has entered its first frame of asynchronous context, see src/isolate/async-context. */
  ContextStart,
  /** (): the guest's slot gets the frame of the code that runs. */
  ContextRead,
  /** (): the frame in the guest's slot becomes the one of the code that runs. */
  ContextWrite,

  /** Ops of node:crypto: a method, JSON of its arguments, bytes that they refer to, token of the keys and objects made. See ops/node/crypto. */
  /** => number of bytes, for Op.Take, or JSON. */
  NodeCrypto,
  /** => async op: bytes or JSON. */
  NodeCryptoAsync,
  /** (object, bytes) => bytes of output, for Op.Take. */
  NodeCryptoUpdate,
  /** (object) => bytes of output, for Op.Take. Closes it. */
  NodeCryptoFinal,

  /** Ops of node:zlib, see ops/node/zlib. */
  /** (format, JSON of the options, bytes, dictionary or undefined) => bytes of output, for Op.Take. */
  ZlibSync,
  /** (format, JSON of the options, dictionary or undefined, token) => stream */
  ZlibOpen,
  /** (stream, bytes, flush; -1 for the last) => async op: bytes of output; call it again without bytes and flush until it returns none. */
  ZlibWrite,
  /** (stream, level, strategy) => async op. */
  ZlibParams,
  /** (stream) */
  ZlibReset,
  /** (stream) => bytes of input that it has processed. */
  ZlibWritten,
  /** (stream) */
  ZlibClose,
  /** (bytes, checksum before them) => checksum */
  ZlibCrc32,

  /** (): ticks of process.nextTick() wait. Ev.Ticks follows when the code that runs has returned, or when the promises of the turn have settled. */
  TicksWait,
  /** () => "heap in all,heap in use,external", each in bytes of this isolate. */
  MemoryUsage,
  /** (invocation, failure): the function ends it. An answer that has not been given fails, and so does the rest of a body. Op.Done follows. */
  Exit,
  /** () => JSON of [name, bytes] of each module of the deployment, in the order of Op.ModuleBytes. */
  ModuleNames,

  /** Always last: the number of ops. */
  Count,
}

export enum Ev {
  /** (JSON of the function's configuration: name, env, bindings, flags, isScript) */
  Setup = 0,
  /** (): the classic script has been evaluated. Modules report it by the loader's `imported(0, namespace)`. */
  Evaluated,
  /** (import id, 0 for the main module; error): evaluation failed. The error is a guest value that the host has not looked at. */
  EvaluationFailed,
  /** (invocation, head, body size) */
  Fetch,
  /** (invocation, cron, scheduled time in ms) */
  Scheduled,
  /** (invocation, JSON of the batch) */
  Queue,
  /** (invocation): the client went away, and what waitUntil does not hold is over. */
  Abort,
  /** (timer id) */
  Timer,
  /**
   * (async op id, 1 for success, number or string or undefined; on failure "Name\nmessage\ncode"; byte count in d when there is a byte result, to be fetched by
   * Op.Take at once)
   */
  Settle,
  /** (exchange, status, head, body size): a call was answered. */
  CallReply,
  /** (exchange, "Name\nmessage\ncode"): a call failed. */
  CallFailed,
  /** (exchange): there is more to read, or the end or failure of the body. */
  Data,
  /** (exchange): writing may continue. */
  Credit,
  /** (exchange, message, 1 when the exchange has failed, else 0): the reader of a body the guest writes wants no more. */
  Stopped,
  /** (reason, promise, frame of the asynchronous context): guest values. */
  UnhandledRejection,
  /** (promise): a guest value whose rejection has been handled after all. */
  RejectionHandled,
  /** (timer id): the invocation of the timer is over, it never fires. */
  TimerDropped,
  /** (invocation, ids of its exchanges joined by commas): it has ended before the guest was done with it. Everything that waits for it is dropped. */
  Over,
  /** (import id, 0 for the main module; promise of the evaluation, a guest value): what it is rejected with is its failure. */
  Evaluating,
  /** (invocation, scheduled time in ms, deliveries before this one) */
  Alarm,
  /** (invocation, JSON of an array of TraceItem) */
  Tail,
  /** (invocation, JSON of ReceivedCall, body size): a call of a method, or a read of a property. */
  Rpc,
  /**
   * (exchange, RecordKind, size, text): the next message of a WebSocket. A text is there when it is short; else `size` bytes are there for Op.SocketRead.
   * For RecordKind.Close, `size` is the code, 0 for none, and the text is the reason.
   */
  SocketMessage,
  /** (invocation, head, body size): an event of a stateful object, see bindings/objects/wire.ts. */
  ObjectEvent,
  /** (invocation): what Op.Resume has asked for. */
  Resume,
  /** (invocation): the client went away, and the request's signal fires. Comes before everything else that ends with the client. */
  ClientGone,
  /** (invocation, after Op.AwaitClient): the body that Op.BodyPipe brings to the answer has ended, or has failed. */
  Piped,
  /** (timer id): one that has outlived its invocation is due. No code of the function runs in this turn. */
  TimerDue,
  /** (import id, name of an error, message): import() has failed before the evaluation of its module. */
  ImportFailed,
  /** (invocation, JSON of BodyForm, size of the input): the main module is evaluated, and its default export called. */
  Run,
  /** (1, or 0 when they are dropped): what Op.TicksWait has asked for. */
  Ticks,
}

/** Flags of Op.TimerStart, to be added. */
export enum TimerFlag {
  Repeats = 1,
  /** It continues when its invocation has ended; Ev.TimerDue then says when it is due. */
  Outlives = 2,
}

/** The components of Op.UrlUpdate. */
export enum UrlField {
  Protocol = 0,
  Username,
  Password,
  Host,
  Hostname,
  Port,
  Pathname,
  Search,
  Hash,
}

/** Flags of decoders, to be added. */
export enum DecodeFlag {
  /** Bytes that are not valid fail instead of becoming U+FFFD. */
  Fatal = 1,
  /** A byte order mark is part of the text. */
  KeepBom = 2,
}

/** How a reaction gets the frame of its promise, the answer of Op.ContextStart. */
export enum ContextCarrier {
  /** Each reaction finds it in the slot. */
  Promises = 1,
  /** The engine keeps it: the slot is filled by Op.ContextRead. */
  Engine,
}

/** The formats of Op.CompressOpen. */
export enum CompressFormat {
  Deflate = 0,
  DeflateRaw,
  Gzip,
  Brotli,
}

/**
 * The head of an answer: a function writes it in a moment, and the host checks and sends it header by header. That takes far longer, while everyone else waits.
 * node:http takes this many headers of a request, too.
 */
export const MAX_REPLY_HEAD_CHARACTERS = 128 * 1024;
export const MAX_REPLY_HEADERS = 2000;
