/** Chooses where the events of a server and of its host are reported. */
import type { EdgeHost } from '../../host/edge-host.js';
import { errorCode } from '../../quotas/errors.js';
import type { CommandIo } from '../terminal/command.js';
import { paintFor } from '../terminal/style.js';
import { jsonLine, peopleLines } from './lines.js';
import type { Report } from './server-event.js';

export function reporterFor(
  io: CommandIo,
  { isJson, hasAccounts }: { readonly isJson: boolean; readonly hasAccounts: boolean },
): Report {
  if (isJson) return event => io.out(jsonLine(event, io.now().getTime()));
  const options = { paint: paintFor(io), now: io.now, hasAccounts };
  return event => io.out(peopleLines(event, options));
}

/** `requests`: also report invocations that succeeded. Those that failed are always reported. */
export function reportHost(host: EdgeHost, report: Report, { requests }: { readonly requests: boolean }): void {
  host.on('log', event => report({ type: 'log', ...event }));
  host.on('warning', error => report({ type: 'warning', code: errorCode(error), message: error.message }));
  host.on('abuse', event =>
    report({ type: 'warning', code: undefined, message: `Requests refused as abuse: ${JSON.stringify(event)}` }),
  );
  host.on('cron', ({ account, function: name, cron, scheduledTime, outcome }) => {
    if (outcome !== 'missed' && outcome !== 'skipped') return;
    const time = new Date(scheduledTime).toISOString();
    const why = outcome === 'missed' ? 'nothing was there to run it' : 'the run before it goes on';
    const message = `Cron trigger "${cron}" of ${account}/${name} was not run at ${time}: ${why}`;
    report({ type: 'warning', code: undefined, message });
  });
  host.on('invocation', event => {
    if (requests || event.outcome !== 'ok' || event.warnings.length > 0) report({ type: 'invocation', ...event });
  });
}
