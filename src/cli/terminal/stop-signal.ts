/** Decides when a command that runs until it is stopped must stop. */
import process from 'node:process';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** How often the parent is looked at: nothing reports its end. */
const PARENT_POLL_MS = 500;

/** Aborts with the first signal, and takes signals over for that. */
export function stopOnSignals(controller: AbortController): void {
  // After the first one the signal does again what it does by default.
  for (const signal of SIGNALS) process.once(signal, () => controller.abort(signal));
}

/**
 * Aborts when a package manager that has started this process by a script, or by `npx`, is gone. npm sends SIGTERM only to the shell between it and the
 * command; where that shell is dash, it ends and leaves the command without a parent and without the signal.
 */
export function stopWithPackageManager(controller: AbortController): void {
  const { npm_lifecycle_event: script } = process.env;
  if (script === undefined || process.platform === 'win32') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    controller.abort('parent');
  }, PARENT_POLL_MS);
  timer.unref();
  controller.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
