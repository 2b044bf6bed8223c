/** The function's own static files, as it finds them in its environment. */
import { ServiceId } from '../../quotas/service-calls.ts';
import { fetchFrom } from '../web/fetch/fetch.ts';
import type { Response } from '../web/fetch/response.ts';

export function createAssets(name: string): object {
  return {
    /** Answered from the files, whatever host the URL names. */
    fetch: (input: unknown, init?: unknown): Promise<Response> =>
      fetchFrom(ServiceId.Assets, name, noFailure, input, init),
  };
}

/** No code of others answers, which could throw. */
function noFailure(): undefined {
  return undefined;
}
