/** Names of `env` that stand for services which do not exist here: `{ AI: 'why, and what to do' }`. Their use throws that text. */
import { EdgeError } from '../../quotas/errors.js';
import { type Schema, text } from '../../quotas/schema/schema.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { NamedBinding } from '../binding.js';
import type { GuestUnavailableConfig } from './wire.js';

const WHY: Schema<string> = text({ minLength: 1, maxLength: 1000, description: 'a text of 1 to 1,000 characters' });

export const unavailableBinding: NamedBinding<string> = {
  id: ServiceId.Unavailable,
  name: 'unavailable',
  subrequest: 'service',
  methods: {},
  option: 'unavailable',
  schema: WHY,
  guestConfig: (why): GuestUnavailableConfig => ({ why }),
  // The client calls nothing; a hijacked cell gets the same answer.
  open: (_context, why) => async () => {
    throw new EdgeError('EDGE_NOT_SUPPORTED', why);
  },
};
