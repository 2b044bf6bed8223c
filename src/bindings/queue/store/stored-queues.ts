/** The queues of a storage, as their records have them. */
import { type NamedRecord, NamedRecords, NameRule } from '../../stored-values/named-records.js';
import type { QueueSettings } from '../broker.js';
import { queueKeys } from './queue-keys.js';

/** The record of a queue. */
export type StoredQueue = NamedRecord & QueueSettings;

export const QUEUE_NAMES = new NameRule(
  'the name of a queue',
  '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
  '1 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit',
);

export const CONFIGURED_QUEUE = QUEUE_NAMES.schema;

export const QUEUES = new NamedRecords<StoredQueue>(queueKeys.allQueues(), QUEUE_NAMES);
