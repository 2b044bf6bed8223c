/** The gates of a stateful object, as its storage uses them. */

export interface ObjectGates {
  /** Closes the input gate: no event of the object is delivered until the returned function was called. Calls nest. */
  closeInput(): () => void;
  /** The output gate stays closed until `written` resolves. When it rejects, the object is reset and nothing that waits leaves. */
  holdOutput(written: Promise<void>): void;
}
