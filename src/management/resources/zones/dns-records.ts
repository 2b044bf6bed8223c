/** DNS records of a zone. Answers carry every field there ever was; the schedule leaves out those that are gone. */

import { randomBytes } from 'node:crypto';
import {
  anything,
  choice,
  constant,
  list,
  object,
  optional,
  type Schema,
  text,
  union,
  wholeNumber,
} from '../../../quotas/schema/schema.js';
import { type Context, pageQuery, param, zoneOf } from '../../context.js';
import {
  bodyOf,
  type CheckedRecord,
  checkRecord,
  type DnsRecordBody,
  legacySrvFields,
} from '../../dns/record-rules.js';
import { type DnsRecord, RECORD_TYPE_NAMES, RECORD_TYPES, type RecordData } from '../../dns/record-types.js';
import { ApiError, type ListReply, type OneReply } from '../../http/envelope.js';
import { requireMatch } from '../../http/preconditions.js';
import { created, many, one, type QueryOf, type Resource, route, routeWithBody, ZONE_PATH } from '../../route.js';
import {
  body,
  boolean,
  DELETED,
  dateTime,
  integer,
  named,
  nullable,
  shortText,
  string,
  type ValueOf,
  zoneId,
} from '../../schemas.js';
import type { RecordChange, Stored } from '../../state/records.js';
import type { ZoneRecord } from '../../state/stores.js';

const RECORD_PATH = `${ZONE_PATH}/dns_records/{dns_record_id}`;

const comment: Schema<string | null> = nullable(text({ maxLength: 500 }));
/** The rules of its type check it. */
const recordData: Schema<RecordData> = { type: 'object' };
const recordInput = {
  type: choice(RECORD_TYPE_NAMES),
  name: shortText(255),
  'content?': shortText(8192),
  'data?': recordData,
  'ttl?': union([constant(1), wholeNumber(60, 86_400, 'seconds')], {
    description: 'a whole number of seconds from 60 to 86400, or 1 for automatic',
  }),
  'priority?': wholeNumber(0, 65_535),
  'proxied?': boolean,
  'comment?': comment,
  'tags?': list(shortText(100), { maxItems: 20, uniqueItems: true }),
};
/** Read-only fields of a record: they are ignored in requests, so that a record can be sent as it was read. */
const recordReadOnly = {
  'id?': anything(),
  'zone_id?': anything(),
  'zone_name?': anything(),
  'locked?': anything(),
  'proxiable?': anything(),
  'created_on?': anything(),
  'modified_on?': anything(),
};

const DNS_RECORD_CREATE = body('DnsRecordCreate', object({ ...recordInput, ...recordReadOnly }), {
  type: 'A',
  name: 'www',
  content: '192.0.2.1',
  ttl: 3600,
});
const DNS_RECORD_REPLACE = body('DnsRecordReplace', object({ ...recordInput, ...recordReadOnly }), {
  type: 'A',
  name: 'www',
  content: '192.0.2.2',
});
const DNS_RECORD_UPDATE = body(
  'DnsRecordUpdate',
  object({ ...optional(recordInput), ...recordReadOnly }, { minProperties: 1 }),
  { ttl: 300 },
);
const DNS_RECORD = named(
  'DnsRecord',
  object({
    id: zoneId,
    type: choice(RECORD_TYPE_NAMES),
    name: string,
    content: string,
    proxiable: boolean,
    proxied: boolean,
    ttl: integer,
    'data?': recordData,
    'priority?': integer,
    comment: nullable(string),
    tags: list(string),
    created_on: dateTime,
    modified_on: dateTime,
    'zone_id?': { ...zoneId, deprecated: true },
    'zone_name?': { ...string, deprecated: true },
    'locked?': { ...constant(false), deprecated: true },
  }),
);

/** `DnsData_SRV` and so on: what `data` of a record of the type must be. */
const DATA_SCHEMAS = RECORD_TYPE_NAMES.flatMap(type => {
  const { shape } = RECORD_TYPES[type];
  return shape.kind === 'data' ? [named(`DnsData_${type}`, shape.schema)] : [];
});

const RECORD_QUERY = { name: shortText(255), type: choice(RECORD_TYPE_NAMES), content: text({ maxLength: 8192 }) };

export const DNS_RECORDS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ZONE_PATH}/dns_records`, id: 'dns-record-list', access: 'dns:read', summary: 'DNS records of a zone', query: RECORD_QUERY, answer: many(DNS_RECORD) }, listRecords),
    routeWithBody({ method: 'POST', path: `${ZONE_PATH}/dns_records`, id: 'dns-record-create', access: 'dns:edit', summary: 'Add a DNS record', answer: created(DNS_RECORD) }, DNS_RECORD_CREATE, createRecord),
    route({ method: 'GET', path: RECORD_PATH, id: 'dns-record-get', access: 'dns:read', summary: 'A DNS record', answer: one(DNS_RECORD) }, getRecord),
    routeWithBody({ method: 'PATCH', path: RECORD_PATH, id: 'dns-record-update', access: 'dns:edit', summary: 'Change fields of a DNS record', answer: one(DNS_RECORD) }, DNS_RECORD_UPDATE, updateRecord),
    routeWithBody({ method: 'PUT', path: RECORD_PATH, id: 'dns-record-replace', access: 'dns:edit', summary: 'Replace a DNS record', answer: one(DNS_RECORD) }, DNS_RECORD_REPLACE, replaceRecord),
    route({ method: 'DELETE', path: RECORD_PATH, id: 'dns-record-delete', access: 'dns:edit', summary: 'Delete a DNS record', answer: one(DELETED) }, deleteRecord),
  ],
  schemas: DATA_SCHEMAS,
};

async function listRecords(context: Context<QueryOf<typeof RECORD_QUERY>>): Promise<ListReply<typeof DNS_RECORD>> {
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

async function createRecord(
  context: Context,
  body: ValueOf<typeof DNS_RECORD_CREATE>,
): Promise<OneReply<typeof DNS_RECORD>> {
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

async function getRecord(context: Context): Promise<OneReply<typeof DNS_RECORD>> {
  const { value, etag } = await find(context);
  return { result: shown(value, zoneOf(context)), etag };
}

async function updateRecord(
  context: Context,
  body: ValueOf<typeof DNS_RECORD_UPDATE>,
): Promise<OneReply<typeof DNS_RECORD>> {
  return write(context, before => merged(before, body));
}

async function replaceRecord(
  context: Context,
  body: ValueOf<typeof DNS_RECORD_REPLACE>,
): Promise<OneReply<typeof DNS_RECORD>> {
  return write(context, () => body);
}

async function deleteRecord(context: Context): Promise<OneReply<typeof DELETED>> {
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

async function write(
  context: Context,
  bodyFrom: (before: DnsRecord) => DnsRecordBody,
): Promise<OneReply<typeof DNS_RECORD>> {
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
function merged(before: DnsRecord, body: ValueOf<typeof DNS_RECORD_UPDATE>): DnsRecordBody {
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

function shown(record: DnsRecord, zone: ZoneRecord): ValueOf<typeof DNS_RECORD> {
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
