/** Checks option objects by their schemas. A mistake is a TypeError or RangeError that names the option, the value and the allowed ones. */

import { complaintAbout } from './check.js';
import { dotted, sentence } from './complaint.js';
import type { Schema } from './schema.js';

/**
 * `where` names the call: `new EdgeHost()`, `load()`. Options that are undefined are not given.
 *
 * @throws RangeError for a number that is out of bounds, TypeError for everything else
 */
export function checkOptions<T>(where: string, options: unknown, schema: Schema<T>): void {
  if (options === undefined) return;
  const complaint = complaintAbout(schema, options);
  if (complaint === undefined) return;
  const message = sentence(complaint, {
    place: path => (path.length === 0 ? `The argument of ${where}` : `Option ${dotted(path)} of ${where}`),
    owner: where,
    member: 'option',
  });
  throw complaint.kind === 'wrong' && complaint.isOutOfRange ? new RangeError(message) : new TypeError(message);
}

/** The options that are given, to be spread over their defaults: one that is undefined has its default. */
export function givenOf<T extends object>(options: T): T {
  // Fields that are left out are optional in T: the check has refused all other fields that are undefined.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
