import { type Context, param } from '../../context.js';
import { requireMatch } from '../../http/preconditions.js';
import type { FunctionRecord } from '../../state/stores.js';

/**
 * Changes the function of the path, as its only writer. `work` gets its name and its stored record.
 *
 * @throws ApiError NOT_FOUND when the function is missing, and an error when the conditions of the request name another state
 */
export function changeFunction<T>(
  context: Context,
  work: (name: string, stored: FunctionRecord) => Promise<T>,
): Promise<T> {
  const { functionStore } = context.services;
  const { account } = context;
  const name = param(context, 'function_name');
  return functionStore.locked(account, name, async () => {
    const { value, etag } = await functionStore.get(account, name);
    requireMatch(context.request.headers, etag);
    return await work(name, value);
  });
}
