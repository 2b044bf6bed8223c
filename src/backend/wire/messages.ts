/**
 * The messages of the control connection between an application and its backend process, inside the frames of the connection: one list for each
 * direction and kind of message. Numbers in them are little-endian. A connection is one of a cell to the backend process, by the number that the
 * application gave it. Both ends are of one version, so a number may change its meaning.
 */

/** Kinds of the exchanges that the application opens. */
export enum ApplicationOpens {
  /** Comes first and says what the application is: ApplicationHello as a packet (backend/wire/packets.ts). Answered with changesText() of MissedChanges. */
  Hello = 1,
  /** A function that was loaded: FunctionRegistration as a packet. Answered when the bindings of the function can be used. */
  Function = 2,
  /** A call of what the backend process has for the application itself: backend/wire/calls.ts. */
  Remote = 3,
  /** The rest of the body of a call, which the isolate passes on: "connection\ncall", and the body. */
  Splice = 4,
  /** A fetch that the application makes follows a redirect: "connection\ninvocation\nhop". Answered when it was counted. */
  Redirect = 5,
}

/** Kinds of the exchanges that the backend process opens. */
export enum BackendOpens {
  /**
   * A call that is answered in the application, and its body: "function\nconnection\ninvocation\nservice\nmethod\nbinding\ntrace headers as JSON\n" and
   * its arguments as JSON.
   */
  Call = 1,
  /** Asks whether a function of the application answers a hop of a fetch: JSON of LocalHead. Answered with '' where the network does. */
  Route = 2,
  /** A hop of a fetch that a function of the application answers: JSON of LocalHead, and its body. */
  Local = 3,
  /** The rest of the body of an answer, which the isolate passes on: "connection\ninvocation", and the body. */
  Splice = 4,
  /** An account has changed: changesText() of ToldChange. Answered when this application has followed. */
  AccountChanged = 5,
  /**
   * The application that removes an account is gone: this one must remove the account's data that is kept beside the storage. JSON of RemovalStep. Answered
   * when it has.
   */
  RemovalLeft = 6,
  /** A call of a traced invocation begins: "connection\ninvocation\n" and JSON of TracedCall. Answered with JSON of its headers. */
  TraceBegins = 7,
}

/** Kinds of the signals of the application. The id is 0, or the exchange's where the signal is about one. */
export enum ApplicationSignal {
  /** The result of the option that is called when a body was read, for the exchange. It comes before the end of the body. */
  Trailer = 1,
  /** The call of the exchange is to wait no more. Its answer comes all the same. */
  Stop = 2,
  /** A cell has ended: u32 its first connection | u32 their number. */
  Gone = 3,
  /** The isolate behind a connection runs a function from now on: u32 connection | u32 function. */
  Attach = 4,
  /** Records of NEWS_BYTES: u32 connection | u32 invocation | u8 News. */
  Invocations = 5,
  /** No isolate loads the function any more: u32 function. */
  Forget = 6,
  /** The account is gone. UTF-8 account. */
  AccountEnds = 7,
  /** Host names that functions of the application answer. JSON. */
  Names = 8,
  /**
   * The subrequests of an invocation that is about to be announced count to another one, too: u32 connection | u32 invocation, and the same of the other.
   */
  Belongs = 9,
  /** Bytes of bodies that a fetch of the application has sent and received: u32 connection | u32 invocation | f64 | f64. */
  Egress = 10,
}

/** Kinds of the signals of the backend process. The id is 0. */
export enum BackendSignal {
  /** A call came of an invocation that was not announced: u32 connection | u32 invocation. */
  Asks = 1,
  /** Work for an invocation, which counts as its CPU time: u32 connection | u32 invocation | u32 microseconds. */
  Charged = 2,
  /** An invocation is over here too: u32 connection | u32 invocation | u32 microseconds | u32 moved KiB | packed RemoteTotals. */
  Totals = 3,
  /** The account holds what does not fall: its cells have to end. "account\nreason". */
  Stuck = 4,
  /** A cell broke the protocol: u32 connection | reason. */
  Broken = 5,
  /** The end of a traced call: JSON. */
  TraceEnds = 6,
  /** Another application has changed a database: JSON of DatabaseChange. */
  DatabaseChanged = 7,
  /** A report of the backend process about itself: JSON of Notice. */
  Notice = 8,
  /** The policy of a function has refused a request or a socket of it: JSON of ToldRefusal. */
  Refused = 9,
}
