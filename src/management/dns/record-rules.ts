/** Turns a client's DNS record into the stored one, or reports its defects. */

import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { JsonSchema } from '../../quotas/schema/schema.js';
import { ApiError } from '../http/envelope.js';
import { compileSchema } from '../validator.js';
import { checkName, nameInZone } from './names.js';
import { type DnsRecord, RECORD_TYPES, type RecordData, type RecordRules, type RecordType } from './record-types.js';

/** A record as a client sends it. */
export interface DnsRecordBody {
  readonly type: RecordType;
  readonly name: string;
  readonly content?: string;
  readonly data?: RecordData;
  readonly ttl?: number;
  readonly priority?: number;
  readonly proxied?: boolean;
  readonly comment?: string | null;
  readonly tags?: readonly string[];
}

export type CheckedRecord = Omit<DnsRecord, 'id' | 'created_on' | 'modified_on'>;

/** 1 stands for automatic. */
const AUTOMATIC_TTL = 1;

/**
 * @param srvFieldsOver whether data.service, data.proto and data.name of SRV records are an error by now; before, they
 *   make the name of the record
 * @throws ApiError with one of the DNS_* codes
 */
export function checkRecord(body: DnsRecordBody, zone: string, srvFieldsOver: boolean): CheckedRecord {
  const rules = RECORD_TYPES[body.type];
  const { name: givenName, data: givenData } = body.type === 'SRV' ? splitSrv(body, srvFieldsOver) : body;
  const name = nameInZone(givenName, zone);
  if (!name.ok) throw new ApiError('DNS_NAME', `/name ${JSON.stringify(givenName)} ${name.reason}`);
  const proxied = body.proxied ?? false;
  if (proxied && !rules.proxiable) {
    throw new ApiError('DNS_FIELD', `/proxied must be false: records of type ${body.type} cannot be proxied`);
  }
  const value = recordValue({ ...body, ...(givenData === undefined ? {} : { data: givenData }) }, rules, name.name);
  return {
    type: body.type,
    name: name.name,
    ...value,
    ttl: proxied ? AUTOMATIC_TTL : (body.ttl ?? AUTOMATIC_TTL),
    proxied,
    comment: body.comment ?? null,
    tags: body.tags ?? [],
  };
}

/** A stored record as the body that would make it, for a change of some of its fields. */
export function bodyOf(record: DnsRecord): DnsRecordBody {
  const { type, name, ttl, proxied, comment, tags } = record;
  const rules = RECORD_TYPES[type];
  return {
    type,
    name,
    ttl,
    proxied,
    comment,
    tags,
    ...(rules.shape.kind === 'content' ? { content: record.content } : {}),
    ...(record.data === undefined ? {} : { data: record.data }),
    ...(rules.priority === 'required' && record.priority !== undefined ? { priority: record.priority } : {}),
  };
}

/** The three fields of SRV records that the deprecation schedule removes, derived from the name of the record. */
export function legacySrvFields(name: string): RecordData {
  const [service = '', proto = '', ...rest] = name.split('.');
  return { service, proto, name: rest.join('.') };
}

function splitSrv(body: DnsRecordBody, fieldsOver: boolean): { name: string; data: RecordData | undefined } {
  const { service, proto, name, ...data } = body.data ?? {};
  const sent = Object.entries({ service, proto, name }).filter(([, value]) => value !== undefined);
  if (sent.length === 0) return { name: body.name, data: body.data };
  if (fieldsOver) {
    const fields = sent.map(([field]) => `/data/${field}`).join(', ');
    throw new ApiError(
      'DNS_SRV_FIELDS',
      `${fields} must not be set for SRV records: use the top-level /name, such as _sip._tcp.example.com`,
    );
  }
  if (typeof service !== 'string' || typeof proto !== 'string' || typeof name !== 'string') {
    throw new ApiError('DNS_DATA', '/data must have service, proto and name, all three as text, or none of them');
  }
  return { name: name === '@' ? `${service}.${proto}` : `${service}.${proto}.${name}`, data };
}

function recordValue(
  body: DnsRecordBody,
  rules: RecordRules,
  name: string,
): Pick<DnsRecord, 'content' | 'data' | 'priority'> {
  const { type, priority } = body;
  const { shape } = rules;
  if (shape.kind === 'content') {
    if (body.data !== undefined)
      throw new ApiError('DNS_FIELD', `/data must not be set: a record of type ${type} has /content`);
    if (body.content === undefined)
      throw new ApiError('DNS_CONTENT', `/content must be set for a record of type ${type}`);
    const content = contentOf(body.content, shape.content, rules);
    if (type === 'CNAME' && content === name)
      throw new ApiError('DNS_CONTENT', '/content must not be the name of the record itself');
    return { content, ...priorityOf(type, priority, rules, undefined) };
  }
  if (body.data === undefined) throw new ApiError('DNS_DATA', `/data must be set for a record of type ${type}`);
  const [problem] = dataProblems(type, shape.schema, body.data);
  if (problem !== undefined) {
    throw new ApiError('DNS_DATA', problem.startsWith('/') ? `/data${problem}` : problem.replace('the body', '/data'));
  }
  const data = { ...body.data };
  for (const field of shape.hosts) data[field] = hostOf(String(data[field]), `/data/${field}`, rules, 'DNS_DATA');
  const checked = priorityOf(type, priority, rules, data);
  return { content: shape.content(data, checked.priority), data, ...checked };
}

/** Compiled when the first record of the type comes. */
const compiled = new Map<string, ReturnType<typeof compileSchema>>();

function dataProblems(type: string, schema: JsonSchema, data: object): string[] {
  const validate = compiled.get(type) ?? compileSchema(schema);
  compiled.set(type, validate);
  return validate(data);
}

function priorityOf(
  type: string,
  priority: number | undefined,
  rules: RecordRules,
  data: RecordData | undefined,
): { readonly priority?: number } {
  if (rules.priority === 'required') {
    if (priority === undefined) throw new ApiError('DNS_FIELD', `/priority must be set for a record of type ${type}`);
    return { priority };
  }
  const inData = rules.priority === 'in-data' ? data?.priority : undefined;
  if (priority !== undefined && priority !== inData) {
    const reason = inData === undefined ? 'not be set' : `be ${String(inData)} as /data/priority is`;
    throw new ApiError('DNS_FIELD', `/priority must ${reason} for a record of type ${type}`);
  }
  return typeof inData === 'number' ? { priority: inData } : {};
}

function contentOf(content: string, kind: 'ipv4' | 'ipv6' | 'host' | 'text' | 'base64', rules: RecordRules): string {
  switch (kind) {
    case 'ipv4':
      if (!isIPv4(content)) throw wrongContent('an IPv4 address', content);
      return content;
    case 'ipv6':
      // isIPv6 takes a zone such as %eth0, which means nothing in a record.
      if (!isIPv6(content) || content.includes('%')) throw wrongContent('an IPv6 address', content);
      return new URL(`http://[${content}]`).hostname.slice(1, -1);
    case 'host':
      return hostOf(content, '/content', rules, 'DNS_CONTENT');
    case 'base64':
      if (!/^[A-Za-z0-9+/]+={0,2}$/.test(content)) throw wrongContent('base64', content);
      return content;
    case 'text':
      for (let at = 0; at < content.length; at += 1) {
        const unit = content.charCodeAt(at);
        if (unit < 0x20 || unit === 0x7f) throw wrongContent('text without control characters', content);
      }
      return content;
  }
}

function hostOf(text: string, place: string, rules: RecordRules, code: 'DNS_CONTENT' | 'DNS_DATA'): string {
  if (text === '.' && rules.dotAllowed) return text;
  if (isIP(text) !== 0) throw new ApiError(code, `${place} must be the name of a host, got the address ${text}`);
  const host = checkName(text, { wildcard: false });
  if (!host.ok) throw new ApiError(code, `${place} must be the name of a host: ${JSON.stringify(text)} ${host.reason}`);
  return host.name;
}

function wrongContent(needed: string, content: string): ApiError {
  return new ApiError('DNS_CONTENT', `/content must be ${needed}, got ${JSON.stringify(content.slice(0, 100))}`);
}
