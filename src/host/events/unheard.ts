/** Warns when functions log or fail while the host has no listeners: without a warning, that looks as if nothing happened at all. */
import process from 'node:process';

let isWarned = false;

/** Says once in a process, and not in production, how to see what functions log and why they fail. */
export function warnUnheard(functionName: string): void {
  if (isWarned || process.env.NODE_ENV === 'production') return;
  isWarned = true;
  process.emitWarning(
    `Function "${functionName}" has logged or failed, and nothing listens to the events of its host`,
    {
      type: 'EdgeHostWarning',
      code: 'EDGEHOST_UNHEARD',
      detail:
        "To see it: host.on('log', event => console.log(event.message)), and host.on('invocation', event => event.error && console.error(event.error)). " +
        'Said once; never with NODE_ENV=production, or with a listener, even an empty one.',
    },
  );
}
