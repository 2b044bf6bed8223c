/**
 * Where usage is kept in the storage. Account and function names hold no "/", days are six digits.
 *
 *     yd<account>/<day>/<function>     the counters of a function on a day
 *     yb<account>/<day>                byte-hours and object-hours of an account on a day
 *     yc<account>                      what the account has stored, and until when its byte-hours were added up
 *     ys<sender>                       the last message of an application whose usage the backend process keeps
 *     yx<day>/<account>                how many functions of the account have counters of the day; by it old days are found
 */
import { afterPrefix } from '../storage/records/level-database.js';

export const USAGE_KEYSPACE: readonly string[] = ['y'];

export const usageKeys = {
  functionDay: (account: string, day: number, name: string) => `yd${account}/${padded(day)}/${name}`,
  functionDays: (account: string) => `yd${account}/`,
  functionDaysFrom: (account: string, day: number) => `yd${account}/${padded(day)}/`,
  allFunctionDays: () => 'yd',
  storageDay: (account: string, day: number) => `yb${account}/${padded(day)}`,
  checkpoint: (account: string) => `yc${account}`,
  allCheckpoints: () => 'yc',
  sender: (sender: string) => `ys${sender}`,
  senders: () => 'ys',
  dayIndex: (day: number, account: string) => `yx${padded(day)}/${account}`,
  dayIndexes: () => 'yx',
  dayIndexesFrom: (day: number) => `yx${padded(day)}/`,
} as const;

/** All keys that start with the prefix. */
export function below(prefix: string): { readonly gte: string; readonly lt: string } {
  return { gte: prefix, lt: afterPrefix(prefix) };
}

function padded(day: number): string {
  return String(day).padStart(6, '0');
}
