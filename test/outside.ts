/** What the application's functions have thrown, where the host throws it: outside of its own stack, as an exception that nobody catches. */
import process from 'node:process';
import type { ExecutionContext } from 'ava';

/** Collects them from now on until the end of the test, which has to be serial. */
export function thrownOutside(t: ExecutionContext): readonly unknown[] {
  const thrown: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback(error => thrown.push(error));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  return thrown;
}
