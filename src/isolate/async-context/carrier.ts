/** How the host realm carries frames of asynchronous context from the creation of a promise to its reactions. */

/** An object of the guest's bundle. Only references to the guest's own frames are ever written to it, and none is looked at. */
export interface FrameSlot {
  frame: unknown;
}

export interface FrameCarrier {
  /** The slot gets the frame of the code that runs. */
  read(): void;
  /** The frame in the slot becomes the one of the code that runs. */
  write(): void;
  /** A turn begins: no frame of the turn before it may be seen. */
  clear(): void;
  /** The frame of a promise whose rejection Node reports at this moment. */
  frameOfRejected(promise: unknown): unknown;
  /** The realm is over. */
  stop(): void;
}
