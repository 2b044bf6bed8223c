/** Starts the alarms of stateful objects that are due. */
import type { AlarmOutcome, ClaimedAlarm } from '../../bindings/objects/alarm-claims.js';
import type { ObjectRef } from '../../bindings/objects/object-ref.js';
import { HostOpens } from '../../protocol/messages.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { errorCode } from '../../quotas/errors.js';
import { runToEnd } from '../invocation/run-to-end.js';
import { type CalledAccounts, calleeOf } from '../rpc/find-callee.js';
import { type ObjectRules, objectRunnerOf } from './object-runner.js';

/** Failures of the object itself: its handler, or a limit. */
const OWN_FAILURES: ReadonlySet<string> = new Set([
  'EDGE_HANDLER_THREW',
  'EDGE_OBJECT_RESET',
  'EDGE_HANDLER_STALLED',
  'EDGE_CPU_LIMIT',
  'EDGE_MEMORY_LIMIT',
  'EDGE_WALL_TIME_LIMIT',
]);

/** Never rejects. */
export async function deliverAlarm(
  accounts: CalledAccounts,
  rules: ObjectRules,
  { account, functionName, className, id }: ObjectRef,
  { scheduledTime, retryCount, name }: Pick<ClaimedAlarm, 'scheduledTime' | 'retryCount' | 'name'>,
): Promise<AlarmOutcome> {
  try {
    const runner = calleeOf(accounts, account, { function: functionName });
    const target = objectRunnerOf(runner, rules).target({ className, id, name });
    await withoutCaller(() => runToEnd(target, HostOpens.Alarm, `${scheduledTime}\n${retryCount}`));
    return 'ok';
  } catch (error) {
    return OWN_FAILURES.has(errorCode(error) ?? '') ? 'failed' : 'internal';
  }
}
