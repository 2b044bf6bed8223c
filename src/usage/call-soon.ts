/** One timer at a time, which does not keep the process alive. */
import { detached, guarded } from '../quotas/guarded.js';
export interface SoonTimer {
  /** Nothing when it is running already. */
  schedule(ms: number): void;
  cancel(): void;
}

export function callSoon(task: () => Promise<void>): SoonTimer {
  let timer: NodeJS.Timeout | undefined;
  return {
    schedule(ms) {
      if (timer !== undefined) return;
      timer = setTimeout(
        guarded(() => {
          timer = undefined;
          detached(task());
        }),
        ms,
      );
      timer.unref();
    },
    cancel() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
