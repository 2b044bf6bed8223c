/** The messages between an application's process and the services process, inside the frames of their connection. */

/** Kinds of an exchange that the application opens. */
export enum ApplicationOpens {
  /** A call of what the services process has for the application itself: remote/calls.ts. */
  Remote = 1,
}

/** Kinds of a signal of the application; the id is that of the exchange. */
export enum ApplicationSignal {
  /** What the application knows of a body when it was read to its end. It comes before the end of the body. */
  Trailer = 1,
  /** The call is to wait no more. Its answer comes all the same. */
  Stop = 2,
}
