import { isObject } from '../../quotas/schema/describe.js';

/** Whether requests to the network need code of the application: a handler, or a resolver. They are made in its process then. */
export function needsApplication(options: unknown): boolean {
  if (!isObject(options)) return false;
  return options.outbound !== undefined || (isObject(options.egress) && options.egress.resolve !== undefined);
}
