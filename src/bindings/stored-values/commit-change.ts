/** A commit of records, together with what it changes of the sum of their account. */
import type { CallWork } from '../../quotas/host/call-work.js';
import type { SumChange } from '../../storage/accounts/account-sum.js';
import type { RecordOperation } from '../../storage/records/counts.js';
import type { RecordStore } from '../../storage/records/record-store.js';

export async function commitChange(
  records: RecordStore,
  operations: RecordOperation[],
  change: SumChange,
  work: CallWork,
): Promise<void> {
  if (change.operation !== undefined) operations.push(change.operation);
  try {
    await records.commit(operations, work);
    change.done();
  } catch (error) {
    change.failed(true);
    throw error;
  }
}
