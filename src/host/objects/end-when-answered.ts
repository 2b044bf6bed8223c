/** The end of an isolate of objects whose place the next version takes: when what it has begun is answered. */
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { guarded } from '../../quotas/guarded.js';

/** How long events may take to be answered, while those that come wait for the next version. */
const ANSWER_MS = 2000;
/** How long the rest of an answer may take then: a body, or a WebSocket that is handed over. */
const REST_MS = 500;

/** Streams and WebSockets that are still open are cut. */
export function endWhenAnswered(isolate: IsolateHandle): void {
  let isLate = false;
  let rest: NodeJS.Timeout | undefined;
  let isScheduled = false;
  const end = guarded(() => isolate.end());
  const check = guarded(() => {
    isScheduled = false;
    if (isolate.inFlight === 0) end();
    else if (!isLate && isolate.hasUnanswered) {
      clearTimeout(rest);
      rest = undefined;
    } else rest ??= setTimeout(end, REST_MS).unref();
  });
  const answer = setTimeout(
    guarded(() => {
      isLate = true;
      check();
    }),
    ANSWER_MS,
  ).unref();
  // Once for all that is answered in one turn.
  isolate.onProgress = () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(check);
  };
  isolate.whenGone(() => {
    isolate.onProgress = undefined;
    clearTimeout(answer);
    clearTimeout(rest);
  });
  check();
}
