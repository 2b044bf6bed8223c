/** DNS records of a zone. Answers carry every field there ever was; the schedule leaves out those that are gone. */

import { randomBytes } from 'node:crypto';
import { type Context, pageQuery, param, zoneOf } from '../context.js';
import { bodyOf, type CheckedRecord, checkRecord, legacySrvFields } from '../dns/record-rules.js';
import { type DnsRecord, RECORD_TYPES } from '../dns/record-types.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { requireMatch } from '../http/preconditions.js';
import type { Bodies, DnsRecordBody } from '../schemas.js';
import type { RecordChange, Stored } from '../state/records.js';
import type { ZoneRecord } from '../state/stores.js';

export async function listRecords(context: Context): Promise<Reply> {
  const zone = zoneOf(context);
  const { name, type, content } = context.query;
  const { items, info } = await context.services.stores.dnsRecords.page(
    [zone.id],
    pageQuery(context),
    record =>
      (name === undefined || record.name === name.toLowerCase()) &&
      (type === undefined || record.type === type) &&
      (content === undefined || record.content === content),
  );
  return { result: items.map(record => shown(record, zone)), resultInfo: info };
}

export async function createRecord(context: Context, body: Bodies['DnsRecordCreate']): Promise<Reply> {
  const zone = zoneOf(context);
  const { stores, limits, now } = context.services;
  const checked = check(context, body);
  return inZone(context, async () => {
    const count = await stores.dnsRecords.count(zone.id);
    if (count >= limits.recordsPerZone) {
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `The zone has ${count} records, at most ${limits.recordsPerZone} are allowed`,
      );
    }
    const time = now().toISOString();
    const record = { ...checked, id: randomBytes(16).toString('hex'), created_on: time, modified_on: time };
    await refuseConflicts(context, record);
    const put = stores.dnsRecords.put([zone.id, record.id], record);
    await context.commit([put.operation, nameEntry(context, record)]);
    return { result: shown(record, zone), etag: put.etag };
  });
}

export async function getRecord(context: Context): Promise<Reply> {
  const { value, etag } = await find(context);
  return { result: shown(value, zoneOf(context)), etag };
}

export async function updateRecord(context: Context, body: Bodies['DnsRecordUpdate']): Promise<Reply> {
  return write(context, before => merged(before, body));
}

export async function replaceRecord(context: Context, body: Bodies['DnsRecordReplace']): Promise<Reply> {
  return write(context, () => body);
}

export async function deleteRecord(context: Context): Promise<Reply> {
  const { stores } = context.services;
  const zone = zoneOf(context);
  return inZone(context, async () => {
    const { value, etag } = await find(context);
    requireMatch(context.request.headers, etag);
    await context.commit([
      stores.dnsRecords.del(zone.id, value.id),
      stores.dnsNames.del(zone.id, value.name, value.id),
    ]);
    return { result: { id: value.id } };
  });
}

async function write(context: Context, bodyFrom: (before: DnsRecord) => DnsRecordBody): Promise<Reply> {
  const { stores, now } = context.services;
  const zone = zoneOf(context);
  return inZone(context, async () => {
    const { value: before, etag } = await find(context);
    requireMatch(context.request.headers, etag);
    const record = {
      ...check(context, bodyFrom(before)),
      id: before.id,
      created_on: before.created_on,
      modified_on: now().toISOString(),
    };
    await refuseConflicts(context, record);
    const put = stores.dnsRecords.put([zone.id, record.id], record);
    await context.commit([
      stores.dnsNames.del(zone.id, before.name, before.id),
      put.operation,
      nameEntry(context, record),
    ]);
    return { result: shown(record, zone), etag: put.etag };
  });
}

/** Read-only fields of a record come back in requests and are ignored; a record of a new type keeps nothing of the old value. */
function merged(before: DnsRecord, body: Bodies['DnsRecordUpdate']): DnsRecordBody {
  const { content, data, priority, ...rest } = bodyOf(before);
  const sameType = body.type === undefined || body.type === before.type;
  const value = {
    ...(content === undefined ? {} : { content }),
    ...(data === undefined ? {} : { data }),
    ...(priority === undefined ? {} : { priority }),
  };
  return { ...rest, ...(sameType ? value : {}), ...body };
}

function check(context: Context, body: DnsRecordBody): CheckedRecord {
  return checkRecord(body, zoneOf(context).name, context.services.schedule.isFinished('srv-data-fields', context.at));
}

/** RFC 1034, 3.6.2: where a CNAME is, nothing else is. */
async function refuseConflicts(context: Context, record: DnsRecord): Promise<void> {
  const zone = zoneOf(context);
  for await (const other of context.services.stores.dnsNames.below(zone.id, record.name)) {
    if (other.id === record.id) continue;
    if (other.type === record.type && other.content === record.content && other.priority === record.priority) {
      throw new ApiError('DNS_DUPLICATE', `An identical record exists: ${other.id}`);
    }
    if (other.type === 'CNAME' || record.type === 'CNAME') {
      throw new ApiError(
        'DNS_CONFLICT',
        `${record.name} has a record of type ${other.type}: a CNAME must be alone under its name`,
      );
    }
  }
}

function nameEntry(context: Context, record: DnsRecord): RecordChange {
  const { id, type, content, priority } = record;
  const entry = { id, type, content, ...(priority === undefined ? {} : { priority }) };
  return context.services.stores.dnsNames.put([zoneOf(context).id, record.name, id], entry).operation;
}

async function find(context: Context): Promise<Stored<DnsRecord>> {
  const id = param(context, 'dns_record_id');
  const stored = await context.services.stores.dnsRecords.get(zoneOf(context).id, id);
  if (stored === undefined) throw new ApiError('NOT_FOUND', `The zone has no DNS record ${id}`);
  return stored;
}

/** One writer of a zone at a time; the zone itself cannot go meanwhile. */
async function inZone<T>(context: Context, work: () => Promise<T>): Promise<T> {
  const { stores } = context.services;
  const { id } = zoneOf(context);
  return stores.lock.run(`zone/${id}`, async () => {
    if (!(await stores.zones.has(id))) throw new ApiError('NOT_FOUND', 'There is no such zone');
    return work();
  });
}

function shown(record: DnsRecord, zone: ZoneRecord): unknown {
  const data = record.type === 'SRV' ? { ...record.data, ...legacySrvFields(record.name) } : record.data;
  return {
    ...record,
    ...(data === undefined ? {} : { data }),
    proxiable: RECORD_TYPES[record.type].proxiable ?? false,
    locked: false,
    zone_id: zone.id,
    zone_name: zone.name,
  };
}
