/** The types of DNS records: what each carries, as JSON Schemas, and how its data reads in a zone file. */
import type { JsonSchema } from '../../quotas/schema/schema.js';

export const RECORD_TYPE_NAMES = [
  'A',
  'AAAA',
  'CAA',
  'CERT',
  'CNAME',
  'DNSKEY',
  'DS',
  'HTTPS',
  'LOC',
  'MX',
  'NAPTR',
  'NS',
  'OPENPGPKEY',
  'PTR',
  'SMIMEA',
  'SRV',
  'SSHFP',
  'SVCB',
  'TLSA',
  'TXT',
  'URI',
] as const;

export type RecordType = (typeof RECORD_TYPE_NAMES)[number];
export type RecordData = Readonly<Record<string, unknown>>;

export type RecordShape =
  /** The record is its `content`. */
  | { readonly kind: 'content'; readonly content: 'ipv4' | 'ipv6' | 'host' | 'text' | 'base64' }
  /** The record is its `data`; `content` is derived from it. `hosts`: the fields of it that are names of hosts. */
  | {
      readonly kind: 'data';
      readonly schema: JsonSchema;
      readonly hosts: readonly string[];
      readonly content: (data: RecordData, priority: number | undefined) => string;
    };

export interface RecordRules {
  readonly shape: RecordShape;
  /** Has a top-level `priority`. */
  readonly priority?: 'required' | 'in-data';
  /** May be answered by the host's own addresses. */
  readonly proxiable?: true;
  /** RFC 7505, RFC 2782, RFC 9460: the single dot means "none here". */
  readonly dotAllowed?: true;
}

const uint8 = { type: 'integer', minimum: 0, maximum: 255 };
const uint16 = { type: 'integer', minimum: 0, maximum: 65_535 };
const host = { type: 'string', minLength: 1, maxLength: 255 };
const hex = { type: 'string', pattern: '^([0-9A-Fa-f]{2})+$', maxLength: 4096 };
const base64 = { type: 'string', pattern: '^[A-Za-z0-9+/]+={0,2}$', maxLength: 8192 };
/** No control characters; quotes and backslashes are escaped when the content is written. */
const text = (maxLength: number) => ({ type: 'string', pattern: '^[^\\u0000-\\u001f\\u007f]*$', maxLength });

function object(properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter(name => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

function fields(...names: string[]): (data: RecordData) => string {
  return data => names.map(name => String(data[name])).join(' ');
}

function quoted(value: unknown): string {
  return `"${String(value).replace(/["\\]/g, '\\$&')}"`;
}

const certificateMatch = object({ usage: uint8, selector: uint8, matching_type: uint8, certificate: hex });
const serviceBinding: RecordShape = {
  kind: 'data',
  schema: object({ priority: uint16, target: host, value: text(2048) }),
  hosts: ['target'],
  content: data => `${data.priority} ${data.target} ${data.value}`.trimEnd(),
};

export const RECORD_TYPES: Readonly<Record<RecordType, RecordRules>> = {
  A: { shape: { kind: 'content', content: 'ipv4' }, proxiable: true },
  AAAA: { shape: { kind: 'content', content: 'ipv6' }, proxiable: true },
  CNAME: { shape: { kind: 'content', content: 'host' }, proxiable: true },
  MX: { shape: { kind: 'content', content: 'host' }, priority: 'required', dotAllowed: true },
  NS: { shape: { kind: 'content', content: 'host' } },
  PTR: { shape: { kind: 'content', content: 'host' } },
  TXT: { shape: { kind: 'content', content: 'text' } },
  OPENPGPKEY: { shape: { kind: 'content', content: 'base64' } },
  CAA: {
    // RFC 8659: tags are letters and digits.
    shape: {
      kind: 'data',
      schema: object({ flags: uint8, tag: { type: 'string', pattern: '^[A-Za-z0-9]{1,15}$' }, value: text(1024) }),
      hosts: [],
      content: data => `${data.flags} ${data.tag} ${quoted(data.value)}`,
    },
  },
  CERT: {
    shape: {
      kind: 'data',
      schema: object({ type: uint16, key_tag: uint16, algorithm: uint8, certificate: base64 }),
      hosts: [],
      content: fields('type', 'key_tag', 'algorithm', 'certificate'),
    },
  },
  DNSKEY: {
    // RFC 4034, 2.1.2: the protocol must be 3.
    shape: {
      kind: 'data',
      schema: object({ flags: uint16, protocol: { const: 3 }, algorithm: uint8, public_key: base64 }),
      hosts: [],
      content: fields('flags', 'protocol', 'algorithm', 'public_key'),
    },
  },
  DS: {
    // RFC 4034, RFC 4509, RFC 6605: the digest is as long as its type says.
    shape: {
      kind: 'data',
      schema: {
        ...object({ key_tag: uint16, algorithm: uint8, digest_type: uint8, digest: hex }),
        allOf: [digestLength(1, 40), digestLength(2, 64), digestLength(4, 96)],
      },
      hosts: [],
      content: fields('key_tag', 'algorithm', 'digest_type', 'digest'),
    },
  },
  HTTPS: { shape: serviceBinding, dotAllowed: true },
  SVCB: { shape: serviceBinding, dotAllowed: true },
  LOC: {
    // RFC 1876
    shape: {
      kind: 'data',
      schema: object({
        lat_degrees: { type: 'integer', minimum: 0, maximum: 90 },
        lat_minutes: { type: 'integer', minimum: 0, maximum: 59 },
        lat_seconds: { type: 'number', minimum: 0, maximum: 59.999 },
        lat_direction: { enum: ['N', 'S'] },
        long_degrees: { type: 'integer', minimum: 0, maximum: 180 },
        long_minutes: { type: 'integer', minimum: 0, maximum: 59 },
        long_seconds: { type: 'number', minimum: 0, maximum: 59.999 },
        long_direction: { enum: ['E', 'W'] },
        altitude: { type: 'number', minimum: -100_000, maximum: 42_849_672.95 },
        size: { type: 'number', minimum: 0, maximum: 90_000_000 },
        precision_horz: { type: 'number', minimum: 0, maximum: 90_000_000 },
        precision_vert: { type: 'number', minimum: 0, maximum: 90_000_000 },
      }),
      hosts: [],
      content: data =>
        `${fields('lat_degrees', 'lat_minutes', 'lat_seconds', 'lat_direction')(data)} ` +
        `${fields('long_degrees', 'long_minutes', 'long_seconds', 'long_direction')(data)} ` +
        `${data.altitude}m ${data.size}m ${data.precision_horz}m ${data.precision_vert}m`,
    },
  },
  NAPTR: {
    // RFC 3403; the replacement may be the root.
    shape: {
      kind: 'data',
      schema: object({
        order: uint16,
        preference: uint16,
        flags: { type: 'string', pattern: '^[A-Za-z0-9]*$', maxLength: 255 },
        service: text(255),
        regex: text(255),
        replacement: host,
      }),
      hosts: ['replacement'],
      content: data =>
        `${data.order} ${data.preference} ${quoted(data.flags)} ${quoted(data.service)} ${quoted(data.regex)} ${data.replacement}`,
    },
    dotAllowed: true,
  },
  SMIMEA: {
    shape: {
      kind: 'data',
      schema: certificateMatch,
      hosts: [],
      content: fields('usage', 'selector', 'matching_type', 'certificate'),
    },
  },
  TLSA: {
    shape: {
      kind: 'data',
      schema: certificateMatch,
      hosts: [],
      content: fields('usage', 'selector', 'matching_type', 'certificate'),
    },
  },
  SRV: {
    // The optional three are refused or folded into the name of the record, as the schedule says.
    shape: {
      kind: 'data',
      schema: object(
        { priority: uint16, weight: uint16, port: uint16, target: host, service: host, proto: host, name: host },
        ['service', 'proto', 'name'],
      ),
      hosts: ['target'],
      content: fields('priority', 'weight', 'port', 'target'),
    },
    priority: 'in-data',
    dotAllowed: true,
  },
  SSHFP: {
    shape: {
      kind: 'data',
      schema: object({ algorithm: uint8, type: uint8, fingerprint: hex }),
      hosts: [],
      content: fields('algorithm', 'type', 'fingerprint'),
    },
  },
  URI: {
    shape: {
      kind: 'data',
      schema: object({ weight: uint16, target: { type: 'string', format: 'uri', maxLength: 2048 } }),
      hosts: [],
      content: (data, priority) => `${priority} ${data.weight} ${quoted(data.target)}`,
    },
    priority: 'required',
  },
};

function digestLength(type: number, length: number): JsonSchema {
  return {
    if: { properties: { digest_type: { const: type } }, required: ['digest_type'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { digest: { type: 'string', minLength: length, maxLength: length } } },
  };
}

export interface DnsRecord {
  readonly id: string;
  readonly type: RecordType;
  readonly name: string;
  readonly content: string;
  readonly data?: RecordData;
  readonly priority?: number;
  readonly ttl: number;
  readonly proxied: boolean;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly created_on: string;
  readonly modified_on: string;
}
