/** Restarts an invocation whose isolate was ended because of another one. */
import type { IsolateHandle } from '../../../pool/host/isolate-handle.js';

export interface Replacements {
  /** The isolate of the same version in place of the one that is gone. */
  replacement(): Promise<IsolateHandle>;
}

/** Answers whether it has begun in the isolate, or false without an isolate: it is then lost, for whatever reason the function cannot start. */
export async function beginElsewhere(
  replacements: Replacements | undefined,
  begin: (isolate: IsolateHandle) => boolean,
): Promise<boolean> {
  try {
    // Later, when the isolate that is lost has left its place.
    await null;
    const isolate = await replacements?.replacement();
    return isolate?.isUsable === true && begin(isolate);
  } catch {
    return false;
  }
}
