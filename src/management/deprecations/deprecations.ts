/**
 * The deprecation schedule of the management API: the one home of its dates and routes. Every row of the table in the
 * specification's Versioning part stands here, newest first; a test reads that table and compares.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** `{name}` stands for one path segment, `{name...}` for one or more. */
export interface DeprecatedRoute {
  readonly methods: readonly Method[];
  readonly path: string;
}

/** The change of behaviour once the end of life is reached. */
export type Change =
  /** The routes answer 410. */
  | { readonly kind: 'routes-gone' }
  /** The routes answer 410; the same path with the other segment remains. */
  | { readonly kind: 'segment-renamed'; readonly from: string; readonly to: string }
  /** Responses of the routes leave the fields out; in requests they are ignored. */
  | { readonly kind: 'fields-gone'; readonly fields: readonly string[] }
  /** Like `fields-gone`, inside `data` of records of one type; requests that contain the fields are refused. */
  | { readonly kind: 'data-fields-refused'; readonly recordType: string; readonly fields: readonly string[] }
  /** Errors of the routes leave `error_chain` out and the root cause takes the place of its parent. */
  | { readonly kind: 'error-chain-gone' }
  /** Requests framed both by Transfer-Encoding and by Content-Length are declined. */
  | { readonly kind: 'framing-declined' }
  /** No route of this API changes; `words` are the terms that a search of source code can look for. */
  | { readonly kind: 'notice'; readonly words: readonly string[] };

export interface Replacement {
  readonly text: string;
  /** The route that replaces it, where the specification names one. It has the parameters of the deprecated path. */
  readonly path?: string;
}

export interface Deprecation {
  readonly id: string;
  /** `YYYY-MM-DD`, UTC. The new behaviour begins at 00:00 of that day. */
  readonly endOfLife: string;
  /** The specification says "after" the day: the new behaviour begins at 00:00 of the day that follows. */
  readonly throughLastDay?: true;
  readonly summary: string;
  readonly change: Change;
  readonly routes: readonly DeprecatedRoute[];
  /** null: the specification states none. */
  readonly replacement: Replacement | null;
  /** The specification shows no payloads: the owner of the host mounts a handler for the routes under this row's id. */
  readonly family?: true;
}

const RECORDS = '/zones/{zone_id}/dns_records';
const RECORD = '/zones/{zone_id}/dns_records/{dns_record_id}';
const RECORD_ROUTES = [
  { methods: ['GET', 'POST'], path: RECORDS },
  { methods: ['GET', 'PATCH', 'PUT'], path: RECORD },
] as const;

const WAF = '/zones/{zone_id}/firewall/waf';
const WAF_PACKAGE = '/zones/{zone_id}/firewall/waf/packages/{package_id}';
const ORGANIZATION = '/organizations/{organization_identifier}';

/**
 * The specification calls it "the legacy accelerator resource" and does not give its path segment; this stands for it
 * until `ScheduleOverrides.acceleratorSegment` says which it was.
 */
export const ACCELERATOR_SEGMENT = 'accelerators';

export const DEPRECATIONS = [
  {
    id: 'firewall-rules',
    endOfLife: '2025-01-15',
    summary: 'Firewall rules and filters APIs deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'], path: '/zones/{zone_id}/firewall/rules' },
      { methods: ['GET', 'PATCH', 'PUT', 'DELETE'], path: '/zones/{zone_id}/firewall/rules/{rule_id}' },
      { methods: ['GET', 'POST', 'PUT', 'DELETE'], path: '/zones/{zone_id}/filters' },
      { methods: ['GET', 'PUT', 'DELETE'], path: '/zones/{zone_id}/filters/{filter_id}' },
    ],
    replacement: { text: 'WAF custom rules' },
    family: true,
  },
  {
    id: 'waf-packages',
    endOfLife: '2025-01-15',
    summary: 'Previous-version WAF managed rules APIs deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET'], path: `${WAF}/packages` },
      { methods: ['GET', 'PATCH'], path: WAF_PACKAGE },
      { methods: ['GET'], path: `${WAF_PACKAGE}/groups` },
      { methods: ['GET', 'PATCH'], path: `${WAF_PACKAGE}/groups/{group_id}` },
      { methods: ['GET'], path: `${WAF_PACKAGE}/rules` },
      { methods: ['GET', 'PATCH'], path: `${WAF_PACKAGE}/rules/{rule_id}` },
      { methods: ['GET', 'POST'], path: `${WAF}/overrides` },
      { methods: ['GET', 'PUT', 'DELETE'], path: `${WAF}/overrides/{override_id}` },
    ],
    replacement: { text: 'New-version WAF managed rules' },
    family: true,
  },
  {
    id: 'rate-limits',
    endOfLife: '2025-01-15',
    summary: 'Previous rate limiting API deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET', 'POST'], path: '/zones/{zone_id}/rate_limits' },
      { methods: ['GET', 'PUT', 'DELETE'], path: '/zones/{zone_id}/rate_limits/{rate_limit_id}' },
    ],
    replacement: { text: 'New rate limiting rules' },
    family: true,
  },
  {
    id: 'dns-record-zone-fields',
    endOfLife: '2024-11-30',
    summary: 'Fields zone_id and zone_name removed from individual DNS records; ignored in requests',
    change: { kind: 'fields-gone', fields: ['zone_id', 'zone_name'] },
    routes: RECORD_ROUTES,
    replacement: { text: 'Zone id is in the URL; name from GET /zones/{zone_id}', path: '/zones/{zone_id}' },
  },
  {
    id: 'dns-record-error-chain',
    endOfLife: '2024-10-01',
    summary: 'error_chain dropped from DNS record creation errors; the root cause is the errors entry',
    change: { kind: 'error-chain-gone' },
    routes: [{ methods: ['POST'], path: RECORDS }],
    replacement: null,
  },
  {
    id: 'dns-settings-endpoints',
    endOfLife: '2024-09-13',
    summary: 'Dedicated DNS settings endpoints deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET', 'PATCH'], path: '/zones/{zone_id}/dns_settings/use_apex_ns' },
      { methods: ['GET', 'PATCH'], path: '/zones/{zone_id}/dns_settings/secondary_overrides' },
    ],
    replacement: {
      text: 'Show and update DNS settings: field multi_provider replaces use_apex_ns, field secondary_overrides its endpoint',
      path: '/zones/{zone_id}/dns_settings',
    },
  },
  {
    id: 'setting-brotli',
    endOfLife: '2024-08-15',
    summary: 'Brotli setting deprecated; afterwards compression is enabled by default for all zones',
    change: { kind: 'routes-gone' },
    routes: [{ methods: ['GET', 'PATCH'], path: '/zones/{zone_id}/settings/brotli' }],
    replacement: {
      text: 'Enterprise customers may override with compression rules',
      path: '/zones/{zone_id}/settings/compression_rules',
    },
  },
  {
    id: 'setting-minify',
    endOfLife: '2024-08-05',
    summary: 'Auto minify deprecated',
    change: { kind: 'routes-gone' },
    routes: [{ methods: ['GET', 'PATCH'], path: '/zones/{zone_id}/settings/minify' }],
    replacement: null,
  },
  {
    id: 'dns-record-locked',
    endOfLife: '2024-07-14',
    summary: 'Field locked omitted from DNS records in responses (was always false; still ignored if sent)',
    change: { kind: 'fields-gone', fields: ['locked'] },
    routes: RECORD_ROUTES,
    replacement: null,
  },
  {
    id: 'setting-mobile-redirect',
    endOfLife: '2024-06-30',
    summary: 'Mobile redirect deprecated',
    change: { kind: 'routes-gone' },
    routes: [{ methods: ['GET', 'PATCH'], path: '/zones/{zone_identifier}/settings/mobile_redirect' }],
    replacement: { text: 'Single redirects' },
  },
  {
    id: 'setting-server-side-exclude',
    endOfLife: '2024-06-14',
    summary: 'Server-side excludes deprecated',
    change: { kind: 'routes-gone' },
    routes: [{ methods: ['GET', 'PATCH'], path: '/zones/{zone_id}/settings/server_side_exclude' }],
    replacement: null,
  },
  {
    id: 'srv-data-fields',
    endOfLife: '2024-05-31',
    throughLastDay: true,
    summary:
      'For SRV DNS records data.service, data.proto and data.name deprecated in favor of the top-level name; no longer produced, an error if received',
    change: { kind: 'data-fields-refused', recordType: 'SRV', fields: ['service', 'proto', 'name'] },
    routes: RECORD_ROUTES,
    replacement: { text: 'top-level name' },
  },
  {
    id: 'setting-privacy-pass',
    endOfLife: '2024-03-31',
    summary: 'Zone setting for the legacy anonymous-token protocol removed',
    change: { kind: 'routes-gone' },
    routes: [{ methods: ['GET', 'POST'], path: '/zones/{zone_identifier}/settings/privacy_pass' }],
    replacement: null,
  },
  {
    id: 'account-tunnels',
    endOfLife: '2024-02-04',
    summary: 'Account tunnels API deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET', 'POST'], path: '/accounts/{account_identifier}/tunnels' },
      { methods: ['GET', 'DELETE'], path: '/accounts/{account_identifier}/tunnels/{tunnel_id}' },
    ],
    replacement: { text: 'Tunnel API' },
    family: true,
  },
  {
    id: 'draft-cipher-suites',
    endOfLife: '2023-07-01',
    summary:
      'Draft variants of ChaCha20-Poly1305 TLS 1.2 cipher suites deprecated (not exposed through the API; RFC 7905 variants unaffected); full removal in first quarter of 2024',
    change: { kind: 'notice', words: [] },
    routes: [],
    replacement: { text: 'standard suites' },
  },
  {
    id: 'double-framing',
    endOfLife: '2023-07-01',
    summary: 'Requests carrying both Transfer-Encoding and Content-Length are declined (RFC 7230, 3.3.3)',
    change: { kind: 'framing-declined' },
    routes: [],
    replacement: null,
  },
  {
    id: 'billing',
    endOfLife: '2023-06-06',
    summary: 'Billing profile and history endpoints deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET'], path: '/accounts/{account_identifier}/billing/profile' },
      { methods: ['GET'], path: '/user/billing/profile' },
      { methods: ['GET'], path: '/user/billing/history' },
    ],
    replacement: null,
    family: true,
  },
  {
    id: 'notification-email',
    endOfLife: '2023-04-03',
    summary:
      'Field notification_email (comma-delimited list of addresses for health notifications) deprecated; moved to a centralized notification service',
    change: { kind: 'notice', words: ['notification_email'] },
    routes: [],
    replacement: { text: 'notification service' },
  },
  {
    id: 'access-bookmarks',
    endOfLife: '2023-03-19',
    summary: 'Access bookmarks API deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET'], path: '/accounts/{identifier}/access/bookmarks' },
      { methods: ['GET', 'POST', 'PUT', 'DELETE'], path: '/accounts/{identifier}/access/bookmarks/{uuid}' },
    ],
    replacement: { text: 'Access applications app type API' },
    family: true,
  },
  {
    id: 'page-shield',
    endOfLife: '2022-10-11',
    summary: 'In page-shield API routes, path segment script_monitor replaced with page_shield',
    change: { kind: 'segment-renamed', from: 'script_monitor', to: 'page_shield' },
    // The specification says "page-shield routes" and lists none, so every route below the segment is meant.
    routes: [
      { methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], path: '/zones/{zone_id}/script_monitor' },
      { methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], path: '/zones/{zone_id}/script_monitor/{path...}' },
    ],
    replacement: { text: 'page_shield', path: '/zones/{zone_id}/page_shield' },
    family: true,
  },
  {
    id: 'image-direct-upload',
    endOfLife: '2022-07-01',
    summary: 'Image direct upload v1 deprecated',
    change: { kind: 'routes-gone' },
    routes: [{ methods: ['POST'], path: '/accounts/{account_identifier}/images/v1/direct_upload' }],
    replacement: {
      text: 'POST /accounts/{account_identifier}/images/v2/direct_upload (allows metadata, access policy, image ID)',
      path: '/accounts/{account_identifier}/images/v2/direct_upload',
    },
    family: true,
  },
  {
    id: 'zone-analytics',
    endOfLife: '2021-03-01',
    summary: 'Zone analytics deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET'], path: '/zones/{zone_identifier}/analytics/dashboard' },
      { methods: ['GET'], path: '/zones/{zone_identifier}/analytics/colos' },
    ],
    replacement: { text: 'GraphQL analytics API' },
    family: true,
  },
  {
    id: 'organizations',
    endOfLife: '2020-02-04',
    summary: 'Organizations API deprecated',
    change: { kind: 'routes-gone' },
    routes: [
      { methods: ['GET', 'PATCH'], path: '/organizations/{identifier}' },
      { methods: ['GET', 'POST'], path: `${ORGANIZATION}/invites` },
      { methods: ['GET', 'PATCH', 'DELETE'], path: `${ORGANIZATION}/invites/{identifier}` },
      { methods: ['GET'], path: `${ORGANIZATION}/members` },
      { methods: ['GET', 'PATCH', 'DELETE'], path: `${ORGANIZATION}/members/{identifier}` },
      { methods: ['GET'], path: `${ORGANIZATION}/roles` },
      { methods: ['GET'], path: `${ORGANIZATION}/roles/{identifier}` },
      { methods: ['GET'], path: `${ORGANIZATION}/audit_logs` },
      { methods: ['GET', 'POST'], path: `${ORGANIZATION}/${ACCELERATOR_SEGMENT}` },
      { methods: ['GET', 'PATCH', 'DELETE'], path: `${ORGANIZATION}/${ACCELERATOR_SEGMENT}/{identifier}` },
      { methods: ['GET'], path: `${ORGANIZATION}/${ACCELERATOR_SEGMENT}/{identifier}/zones` },
    ],
    replacement: { text: 'Accounts API (backwards compatible, broader)' },
    family: true,
  },
] as const satisfies readonly Deprecation[];

type Row = (typeof DEPRECATIONS)[number];

export type DeprecationId = Row['id'];

/** The rows whose routes the owner of the host serves, see `ManagementOptions.families`. */
export type FamilyId = Extract<Row, { readonly family: true }>['id'];

export const FAMILY_IDS: readonly FamilyId[] = DEPRECATIONS.flatMap(row => ('family' in row ? [row.id] : []));

export function isFamilyId(id: string): id is FamilyId {
  return FAMILY_IDS.some(family => family === id);
}

export function isDeprecationId(id: string): id is DeprecationId {
  return DEPRECATIONS.some(row => row.id === id);
}
