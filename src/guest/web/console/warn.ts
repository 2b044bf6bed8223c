/** A line of level `warn` in the log of the invocation, by the web APIs themselves. */
import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';

/** The level of Op.Log. */
const WARN = 3;

export function warn(text: string): void {
  try {
    op(Op.Log, WARN, text);
  } catch {
    // Logging never throws.
  }
}
