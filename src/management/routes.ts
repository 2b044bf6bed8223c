/** The one table of routes. Routers, the OpenAPI document and the tests are made from it. */

import type { Schedule } from './deprecations/deprecation-timeline.js';
import { DEPRECATIONS, type FamilyId, type Method } from './deprecations/deprecations.js';
import { RECORD_TYPE_NAMES } from './dns/record-types.js';
import * as accounts from './resources/accounts.js';
import * as auditLogs from './resources/audit-logs.js';
import * as buckets from './resources/buckets.js';
import * as caches from './resources/caches.js';
import * as consumers from './resources/consumers.js';
import * as databases from './resources/databases.js';
import * as deployments from './resources/deployments.js';
import * as dnsRecords from './resources/dns-records.js';
import * as dnsSettings from './resources/dns-settings.js';
import * as functionSettings from './resources/function-settings.js';
import * as functions from './resources/functions.js';
import * as bulk from './resources/kv/bulk.js';
import * as namespaces from './resources/kv/namespaces.js';
import * as values from './resources/kv/values.js';
import * as meta from './resources/meta.js';
import * as objects from './resources/objects.js';
import * as queues from './resources/queues.js';
import * as routes from './resources/routes.js';
import * as schedules from './resources/schedules.js';
import * as secrets from './resources/secrets.js';
import * as tails from './resources/tails.js';
import * as tokens from './resources/tokens.js';
import * as usage from './resources/usage.js';
import * as usageRecords from './resources/usage-records.js';
import { USAGE_PAGE, USAGE_RANGE } from './resources/usage-records.js';
import * as versions from './resources/versions.js';
import * as zoneSettings from './resources/zone-settings.js';
import * as zones from './resources/zones.js';
import { type Answer, type ApiRoute, route, routeWithBody, routeWithLongBody } from './route.js';
import type { ResultName } from './schemas.js';

const one = (schema: ResultName): Answer => ({ kind: 'one', schema, status: 200 });
const created = (schema: ResultName): Answer => ({ kind: 'one', schema, status: 201 });
const list = (schema: ResultName, paged: 'pages' | 'cursor' | 'no' = 'pages'): Answer => ({
  kind: 'list',
  schema,
  paged,
});
const text = { type: 'string', minLength: 1, maxLength: 255 };

const ZONE = '/zones/{zone_id}';
const RECORD = `${ZONE}/dns_records/{dns_record_id}`;
const ACCOUNT = '/accounts/{account_id}';
const DATABASE = `${ACCOUNT}/sql/databases/{database_id}`;
const NAMESPACE = `${ACCOUNT}/kv/namespaces/{namespace_id}`;
const OBJECTS = `${ACCOUNT}/objects/namespaces/{namespace_id}`;
const FUNCTION = `${ACCOUNT}/functions/{function_name}`;
const QUEUE = `${ACCOUNT}/queues/{queue_name}`;

// biome-ignore format: a table, one route a row
const RESOURCES: readonly ApiRoute[] = [
  route({ method: 'GET', path: '/openapi.json', id: 'openapi', access: 'public', summary: 'This API as an OpenAPI 3.1 document', answer: { kind: 'raw', mediaType: 'application/json' } }, meta.getDocument),
  route({ method: 'GET', path: '/deprecations', id: 'deprecation-list', access: 'public', summary: 'The schedule of deprecations', answer: list('Deprecation', 'no') }, meta.listDeprecations),
  route({ method: 'GET', path: '/deprecations/{deprecation_id}', id: 'deprecation-get', access: 'public', summary: 'One row of the schedule', answer: one('Deprecation') }, meta.getDeprecation),
  route({ method: 'GET', path: '/user/tokens/verify', id: 'token-verify', access: 'token', summary: 'What the token of the request permits', answer: one('TokenVerified') }, meta.verifyToken),

  route({ method: 'GET', path: '/zones', id: 'zone-list', access: 'zones:read', summary: 'Zones that the token may see', query: { name: text }, answer: list('Zone') }, zones.listZones),
  routeWithBody({ method: 'POST', path: '/zones', id: 'zone-create', access: 'zones:edit', summary: 'Add a zone to an account', answer: created('Zone') }, 'ZoneCreate', zones.createZone),
  route({ method: 'GET', path: ZONE, id: 'zone-get', access: 'zones:read', summary: 'A zone with its name', answer: one('Zone') }, zones.getZone),
  route({ method: 'DELETE', path: ZONE, id: 'zone-delete', access: 'zones:edit', summary: 'Delete a zone with its records and settings', answer: one('Deleted') }, zones.deleteZone),

  route({ method: 'GET', path: `${ZONE}/dns_records`, id: 'dns-record-list', access: 'dns:read', summary: 'DNS records of a zone', query: { name: text, type: { enum: [...RECORD_TYPE_NAMES] }, content: { type: 'string', maxLength: 8192 } }, answer: list('DnsRecord') }, dnsRecords.listRecords),
  routeWithBody({ method: 'POST', path: `${ZONE}/dns_records`, id: 'dns-record-create', access: 'dns:edit', summary: 'Add a DNS record', answer: created('DnsRecord') }, 'DnsRecordCreate', dnsRecords.createRecord),
  route({ method: 'GET', path: RECORD, id: 'dns-record-get', access: 'dns:read', summary: 'A DNS record', answer: one('DnsRecord') }, dnsRecords.getRecord),
  routeWithBody({ method: 'PATCH', path: RECORD, id: 'dns-record-update', access: 'dns:edit', summary: 'Change fields of a DNS record', answer: one('DnsRecord') }, 'DnsRecordUpdate', dnsRecords.updateRecord),
  routeWithBody({ method: 'PUT', path: RECORD, id: 'dns-record-replace', access: 'dns:edit', summary: 'Replace a DNS record', answer: one('DnsRecord') }, 'DnsRecordReplace', dnsRecords.replaceRecord),
  route({ method: 'DELETE', path: RECORD, id: 'dns-record-delete', access: 'dns:edit', summary: 'Delete a DNS record', answer: one('Deleted') }, dnsRecords.deleteRecord),

  route({ method: 'GET', path: `${ZONE}/dns_settings`, id: 'dns-settings-get', access: 'dns:read', summary: 'DNS settings of a zone', answer: one('DnsSettings') }, dnsSettings.getDnsSettings),
  routeWithBody({ method: 'PATCH', path: `${ZONE}/dns_settings`, id: 'dns-settings-update', access: 'dns:edit', summary: 'Change DNS settings', answer: one('DnsSettings') }, 'DnsSettingsUpdate', dnsSettings.updateDnsSettings),
  route({ method: 'GET', path: `${ZONE}/dns_settings/use_apex_ns`, id: 'use-apex-ns-get', access: 'dns:read', summary: 'multi_provider under its former name', answer: one('DnsSetting') }, dnsSettings.getField('multi_provider')),
  routeWithBody({ method: 'PATCH', path: `${ZONE}/dns_settings/use_apex_ns`, id: 'use-apex-ns-update', access: 'dns:edit', summary: 'Change multi_provider under its former name', answer: one('DnsSetting') }, 'DnsSettingUpdate', dnsSettings.updateField('multi_provider')),
  route({ method: 'GET', path: `${ZONE}/dns_settings/secondary_overrides`, id: 'secondary-overrides-get', access: 'dns:read', summary: 'secondary_overrides at its former place', answer: one('DnsSetting') }, dnsSettings.getField('secondary_overrides')),
  routeWithBody({ method: 'PATCH', path: `${ZONE}/dns_settings/secondary_overrides`, id: 'secondary-overrides-update', access: 'dns:edit', summary: 'Change secondary_overrides at its former place', answer: one('DnsSetting') }, 'DnsSettingUpdate', dnsSettings.updateField('secondary_overrides')),

  route({ method: 'GET', path: `${ZONE}/settings`, id: 'zone-setting-list', access: 'zones:read', summary: 'Settings of a zone', answer: list('ZoneSetting', 'no') }, zoneSettings.listSettings),
  route({ method: 'GET', path: `${ZONE}/settings/{setting_id}`, id: 'zone-setting-get', access: 'zones:read', summary: 'A setting of a zone', answer: one('ZoneSetting') }, zoneSettings.getSetting()),
  routeWithBody({ method: 'PATCH', path: `${ZONE}/settings/{setting_id}`, id: 'zone-setting-update', access: 'zones:edit', summary: 'Change a setting of a zone', answer: one('ZoneSetting') }, 'ZoneSettingUpdate', zoneSettings.updateSetting()),
  ...deprecatedSetting(ZONE, 'brotli', 'PATCH'),
  ...deprecatedSetting(ZONE, 'minify', 'PATCH'),
  ...deprecatedSetting('/zones/{zone_identifier}', 'mobile_redirect', 'PATCH'),
  ...deprecatedSetting(ZONE, 'server_side_exclude', 'PATCH'),
  ...deprecatedSetting('/zones/{zone_identifier}', 'privacy_pass', 'POST'),

  route({ method: 'GET', path: `${ZONE}/routes`, id: 'route-list', access: 'functions:read', summary: 'Routes of a zone', answer: list('Route') }, routes.listRoutes),
  routeWithBody({ method: 'POST', path: `${ZONE}/routes`, id: 'route-create', access: 'functions:edit', summary: 'Attach a function to a URL pattern', answer: created('Route') }, 'RouteInput', routes.createRoute),
  route({ method: 'GET', path: `${ZONE}/routes/{route_id}`, id: 'route-get', access: 'functions:read', summary: 'A route', answer: one('Route') }, routes.getRoute),
  routeWithBody({ method: 'PUT', path: `${ZONE}/routes/{route_id}`, id: 'route-replace', access: 'functions:edit', summary: 'Replace a route', answer: one('Route') }, 'RouteInput', routes.replaceRoute),
  route({ method: 'DELETE', path: `${ZONE}/routes/{route_id}`, id: 'route-delete', access: 'functions:edit', summary: 'Delete a route', answer: one('Deleted') }, routes.deleteRoute),

  route({ method: 'GET', path: '/accounts', id: 'account-list', access: 'accounts:read', summary: 'Accounts of the host, for tokens for all accounts', answer: list('Account') }, accounts.listAccounts),
  route({ method: 'GET', path: ACCOUNT, id: 'account-get', access: 'accounts:read', summary: 'An account, and how much it stores', answer: one('Account') }, accounts.getAccount),
  routeWithBody({ method: 'PATCH', path: ACCOUNT, id: 'account-update', access: 'accounts:edit', summary: 'Change plan, limits, caps and zones of an account', answer: one('Account') }, 'AccountUpdate', accounts.updateAccount),
  route({ method: 'DELETE', path: ACCOUNT, id: 'account-remove', access: 'accounts:edit', summary: 'End an account, and delete its data when delete_data says so', query: { delete_data: { enum: ['true', 'false'] } }, answer: one('Deleted') }, accounts.removeAccount),

  route({ method: 'GET', path: `${ACCOUNT}/functions`, id: 'function-list', access: 'functions:read', summary: 'Functions of an account', answer: list('Function') }, functions.listFunctions),
  route({ method: 'GET', path: FUNCTION, id: 'function-get', access: 'functions:read', summary: 'A function', answer: one('Function') }, functions.getFunction),
  route({ method: 'PUT', path: FUNCTION, id: 'function-upload', access: 'functions:edit', summary: 'Upload a function and let it serve', answer: one('Function') }, functions.uploadFunction, 'upload'),
  route({ method: 'DELETE', path: FUNCTION, id: 'function-delete', access: 'functions:edit', summary: 'Delete a function', answer: one('Deleted') }, functions.deleteFunction),
  route({ method: 'GET', path: `${FUNCTION}/content`, id: 'function-content', access: 'functions:read', summary: 'The modules of the version that serves', answer: { kind: 'raw', mediaType: 'multipart/form-data' } }, functions.getContent),
  route({ method: 'GET', path: `${FUNCTION}/versions`, id: 'version-list', access: 'functions:read', summary: 'Versions of a function, the newest first', answer: list('FunctionVersion') }, versions.listVersions),
  route({ method: 'POST', path: `${FUNCTION}/versions`, id: 'version-create', access: 'functions:edit', summary: 'Upload a version that does not serve yet', answer: created('FunctionVersion') }, versions.createVersion, 'upload'),
  route({ method: 'GET', path: `${FUNCTION}/versions/{version_id}`, id: 'version-get', access: 'functions:read', summary: 'A version', answer: one('FunctionVersion') }, versions.getVersion),
  route({ method: 'GET', path: `${FUNCTION}/deployments`, id: 'deployment-list', access: 'functions:read', summary: 'Deployments of a function, the newest first', answer: list('Deployment') }, deployments.listDeployments),
  routeWithBody({ method: 'POST', path: `${FUNCTION}/deployments`, id: 'deployment-create', access: 'functions:edit', summary: 'Let a version serve', answer: created('Deployment') }, 'DeploymentCreate', deployments.createDeployment),
  route({ method: 'GET', path: `${FUNCTION}/deployments/{deployment_id}`, id: 'deployment-get', access: 'functions:read', summary: 'A deployment', answer: one('Deployment') }, deployments.getDeployment),
  route({ method: 'GET', path: `${FUNCTION}/settings`, id: 'function-settings-get', access: 'functions:read', summary: 'Settings of a function', answer: one('FunctionSettings') }, functionSettings.getSettings),
  routeWithBody({ method: 'PATCH', path: `${FUNCTION}/settings`, id: 'function-settings-update', access: 'functions:edit', summary: 'Change limits, usage model, compatibility, bindings', answer: one('FunctionSettings') }, 'FunctionSettingsUpdate', functionSettings.updateSettings),
  route({ method: 'GET', path: `${FUNCTION}/bindings`, id: 'binding-list', access: 'functions:read', summary: 'Bindings of a function, secrets without their text', answer: one('BindingList') }, functionSettings.getBindings),
  routeWithBody({ method: 'PUT', path: `${FUNCTION}/bindings`, id: 'binding-replace', access: 'functions:edit', summary: 'Replace bindings; secrets left out stay', answer: one('BindingList') }, 'Bindings', functionSettings.replaceBindings),
  route({ method: 'GET', path: `${FUNCTION}/secrets`, id: 'secret-list', access: 'functions:read', summary: 'Names of the secrets', answer: list('Secret', 'no') }, secrets.listSecrets),
  routeWithBody({ method: 'PUT', path: `${FUNCTION}/secrets`, id: 'secret-put', access: 'functions:edit', summary: 'Set a secret', answer: one('Secret') }, 'SecretInput', secrets.putSecret),
  route({ method: 'DELETE', path: `${FUNCTION}/secrets/{secret_name}`, id: 'secret-delete', access: 'functions:edit', summary: 'Delete a secret', answer: one('Deleted') }, secrets.deleteSecret),
  route({ method: 'GET', path: `${FUNCTION}/schedules`, id: 'schedule-list', access: 'functions:read', summary: 'Cron triggers', answer: one('ScheduleList') }, schedules.listSchedules),
  routeWithBody({ method: 'PUT', path: `${FUNCTION}/schedules`, id: 'schedule-replace', access: 'functions:edit', summary: 'Replace the cron triggers', answer: one('ScheduleList') }, 'Schedules', schedules.replaceSchedules),
  routeWithBody({ method: 'POST', path: `${FUNCTION}/schedules/run`, id: 'schedule-run', access: 'functions:edit', summary: 'Run the scheduled handler once, now', answer: one('ScheduleOutcome') }, 'ScheduleRun', schedules.runSchedule),
  route({ method: 'GET', path: `${FUNCTION}/usage`, id: 'function-usage', access: 'usage:read', summary: 'Usage of a function', answer: one('FunctionUsage') }, usage.getFunctionUsage),

  route({ method: 'GET', path: `${FUNCTION}/consumers`, id: 'consumer-list', access: 'functions:read', summary: 'Queues that a function consumes', answer: one('ConsumerList') }, consumers.getConsumers),
  routeWithBody({ method: 'PUT', path: `${FUNCTION}/consumers`, id: 'consumer-replace', access: 'functions:edit', summary: 'Replace the queues that a function consumes', answer: one('ConsumerList') }, 'Consumers', consumers.replaceConsumers),

  route({ method: 'GET', path: `${ACCOUNT}/queues`, id: 'queue-list', access: 'queues:read', summary: 'Queues of an account', answer: list('QueueSummary') }, queues.listQueues),
  routeWithBody({ method: 'POST', path: `${ACCOUNT}/queues`, id: 'queue-create', access: 'queues:edit', summary: 'Make a queue', answer: created('Queue') }, 'QueueCreate', queues.createQueue),
  route({ method: 'GET', path: QUEUE, id: 'queue-get', access: 'queues:read', summary: 'A queue, and how much it holds', answer: one('Queue') }, queues.getQueue),
  routeWithBody({ method: 'PATCH', path: QUEUE, id: 'queue-update', access: 'queues:edit', summary: 'Change settings of a queue; pause and resume its delivery', answer: one('Queue') }, 'QueueUpdate', queues.updateQueue),
  route({ method: 'DELETE', path: QUEUE, id: 'queue-delete', access: 'queues:edit', summary: 'Delete a queue with its messages', answer: one('Deleted') }, queues.deleteQueue),
  route({ method: 'GET', path: `${QUEUE}/consumers`, id: 'queue-consumer-list', access: 'queues:read', summary: 'Functions that consume a queue', answer: list('QueueConsumer', 'no') }, queues.listConsumers),
  routeWithBody({ method: 'POST', path: `${QUEUE}/messages`, id: 'queue-message-send', access: 'queues:edit', summary: 'Send a message', answer: one('Queue') }, 'QueueMessage', queues.sendMessage),
  routeWithBody({ method: 'POST', path: `${QUEUE}/messages/batch`, id: 'queue-message-send-batch', access: 'queues:edit', summary: 'Send messages, all or none', answer: one('Queue') }, 'QueueMessages', queues.sendMessages),
  routeWithBody({ method: 'POST', path: `${QUEUE}/messages/pull`, id: 'queue-message-pull', access: 'queues:edit', summary: 'Claim messages for a time', answer: one('QueuePulled') }, 'QueuePull', queues.pullMessages),
  routeWithBody({ method: 'POST', path: `${QUEUE}/messages/ack`, id: 'queue-message-ack', access: 'queues:edit', summary: 'Say what becomes of messages that were pulled', answer: one('QueueAcked') }, 'QueueAck', queues.ackMessages),
  route({ method: 'POST', path: `${QUEUE}/purge`, id: 'queue-purge', access: 'queues:edit', summary: 'Delete all messages of a queue', answer: one('QueuePurged') }, queues.purgeQueue),

  route({ method: 'GET', path: `${ACCOUNT}/buckets`, id: 'bucket-list', access: 'buckets:read', summary: 'Buckets of an account', answer: list('Bucket') }, buckets.listBuckets),
  routeWithBody({ method: 'POST', path: `${ACCOUNT}/buckets`, id: 'bucket-create', access: 'buckets:edit', summary: 'Make a bucket', answer: created('Bucket') }, 'BucketCreate', buckets.createBucket),
  route({ method: 'GET', path: `${ACCOUNT}/buckets/{bucket_name}`, id: 'bucket-get', access: 'buckets:read', summary: 'A bucket', answer: one('Bucket') }, buckets.getBucket),
  route({ method: 'DELETE', path: `${ACCOUNT}/buckets/{bucket_name}`, id: 'bucket-delete', access: 'buckets:edit', summary: 'Delete an empty bucket', answer: one('Deleted') }, buckets.deleteBucket),
  route({ method: 'GET', path: `${ACCOUNT}/sql/databases`, id: 'sql-database-list', access: 'sql:read', summary: 'SQL databases of an account', answer: list('SqlDatabase') }, databases.listDatabases),
  routeWithBody({ method: 'POST', path: `${ACCOUNT}/sql/databases`, id: 'sql-database-create', access: 'sql:edit', summary: 'Make an SQL database', answer: created('SqlDatabase') }, 'SqlDatabaseCreate', databases.createDatabase),
  route({ method: 'GET', path: DATABASE, id: 'sql-database-get', access: 'sql:read', summary: 'An SQL database', answer: one('SqlDatabase') }, databases.getDatabase),
  route({ method: 'DELETE', path: DATABASE, id: 'sql-database-delete', access: 'sql:edit', summary: 'Delete an SQL database with all that is in it', answer: one('Deleted') }, databases.deleteDatabase),
  routeWithBody({ method: 'POST', path: `${DATABASE}/query`, id: 'sql-query', access: 'sql:edit', summary: 'Run a statement', answer: list('SqlResult', 'no') }, 'SqlQuery', databases.queryDatabase),
  route({ method: 'GET', path: `${DATABASE}/export`, id: 'sql-export', access: 'sql:read', summary: 'The database as SQL', answer: { kind: 'raw', mediaType: 'application/sql' } }, databases.exportDatabase),
  route({ method: 'POST', path: `${DATABASE}/import`, id: 'sql-import', access: 'sql:edit', summary: 'Run the SQL of the body as one transaction', answer: one('SqlImported') }, databases.importDatabase, 'bytes'),
  route({ method: 'GET', path: `${DATABASE}/migrations`, id: 'sql-migration-list', access: 'sql:read', summary: 'Migrations that were applied', answer: list('SqlMigration', 'no') }, databases.listMigrations),
  route({ method: 'GET', path: `${ACCOUNT}/kv/namespaces`, id: 'kv-namespace-list', access: 'kv:read', summary: 'Key-value namespaces of an account', answer: list('KvNamespace') }, namespaces.listNamespaces),
  routeWithBody({ method: 'POST', path: `${ACCOUNT}/kv/namespaces`, id: 'kv-namespace-create', access: 'kv:edit', summary: 'Make a key-value namespace', answer: created('KvNamespace') }, 'KvNamespaceCreate', namespaces.createNamespace),
  route({ method: 'GET', path: NAMESPACE, id: 'kv-namespace-get', access: 'kv:read', summary: 'A key-value namespace', answer: one('KvNamespace') }, namespaces.getNamespace),
  route({ method: 'DELETE', path: NAMESPACE, id: 'kv-namespace-delete', access: 'kv:edit', summary: 'Delete a key-value namespace with all that is in it', answer: one('Deleted') }, namespaces.deleteNamespace),
  route({ method: 'GET', path: `${NAMESPACE}/keys`, id: 'kv-key-list', access: 'kv:read', summary: 'Keys of a namespace, in the order of their UTF-8 bytes', query: values.KEY_QUERY, answer: list('KvKey', 'cursor') }, values.listKeys),
  route({ method: 'GET', path: `${NAMESPACE}/values/{key_name}`, id: 'kv-value-get', access: 'kv:read', summary: 'The value of a key', answer: { kind: 'raw', mediaType: 'application/octet-stream' } }, values.getValue),
  route({ method: 'PUT', path: `${NAMESPACE}/values/{key_name}`, id: 'kv-value-put', access: 'kv:edit', summary: 'Set the value of a key to the bytes of the body', query: values.PUT_QUERY, answer: one('KvKey') }, values.putValue, 'bytes'),
  route({ method: 'DELETE', path: `${NAMESPACE}/values/{key_name}`, id: 'kv-value-delete', access: 'kv:edit', summary: 'Delete a key', answer: one('Deleted') }, values.deleteValue),
  routeWithLongBody({ method: 'PUT', path: `${NAMESPACE}/bulk`, id: 'kv-bulk-put', access: 'kv:edit', summary: 'Set the values of up to 10,000 keys', answer: one('KvBulk') }, 'KvPairs', bulk.putPairs),
  routeWithLongBody({ method: 'POST', path: `${NAMESPACE}/bulk/delete`, id: 'kv-bulk-delete', access: 'kv:edit', summary: 'Delete up to 10,000 keys', answer: one('KvBulk') }, 'KvKeyNames', bulk.deleteKeys),
  route({ method: 'GET', path: `${NAMESPACE}/metadata/{key_name}`, id: 'kv-metadata-get', access: 'kv:read', summary: 'Expiry and metadata of a key', answer: one('KvKey') }, values.getMetadata),
  route({ method: 'GET', path: `${ACCOUNT}/objects/namespaces`, id: 'object-namespace-list', access: 'objects:read', summary: 'Classes of which stateful objects have stored something', answer: list('ObjectNamespace') }, objects.listObjectNamespaces),
  route({ method: 'GET', path: OBJECTS, id: 'object-namespace-get', access: 'objects:read', summary: 'One of these classes', answer: one('ObjectNamespace') }, objects.getObjectNamespace),
  route({ method: 'GET', path: `${OBJECTS}/objects`, id: 'object-list', access: 'objects:read', summary: 'Its objects that have stored something, by id', answer: list('StoredObject', 'cursor') }, objects.listObjects),
  route({ method: 'DELETE', path: `${OBJECTS}/objects/{object_id}`, id: 'object-delete', access: 'objects:edit', summary: 'Delete all that an object has stored, and its alarm', answer: one('Deleted') }, objects.deleteObject),
  route({ method: 'GET', path: `${ACCOUNT}/cache`, id: 'cache-get', access: 'cache:read', summary: 'How much the caches of an account keep', answer: one('Cache') }, caches.getCache),
  routeWithBody({ method: 'POST', path: `${ACCOUNT}/cache/purge`, id: 'cache-purge', access: 'cache:edit', summary: 'Forget what caches keep: by URL, prefix or tag, or everything', answer: one('CachePurged') }, 'CachePurge', caches.purgeCache),
  route({ method: 'GET', path: `${ACCOUNT}/usage`, id: 'account-usage', access: 'usage:read', summary: 'Usage and quotas of an account', answer: one('AccountUsage') }, usage.getAccountUsage),
  route({ method: 'GET', path: `${ACCOUNT}/usage/records`, id: 'usage-records', access: 'usage:read', summary: 'What an account has used, by day and function', query: USAGE_RANGE, answer: one('UsageReport') }, usageRecords.getAccountRecords),
  route({ method: 'GET', path: `${ACCOUNT}/usage/csv`, id: 'usage-csv', access: 'usage:read', summary: 'The same as CSV (RFC 4180)', query: USAGE_RANGE, answer: { kind: 'raw', mediaType: 'text/csv' } }, usageRecords.getAccountCsv),
  route({ method: 'GET', path: '/usage/records', id: 'usage-records-list', access: 'usage:read', summary: 'What the accounts that the token may see have used', query: USAGE_PAGE, answer: list('UsageReport') }, usageRecords.listRecords),
  route({ method: 'GET', path: '/usage/csv', id: 'usage-csv-list', access: 'usage:read', summary: 'The same as CSV (RFC 4180)', query: USAGE_PAGE, answer: { kind: 'raw', mediaType: 'text/csv' } }, usageRecords.listCsv),
  route({ method: 'GET', path: `${ACCOUNT}/tail`, id: 'tail', access: 'tails:read', summary: 'Invocations of an account as they end, as server-sent events', query: tails.TAIL_QUERY, answer: { kind: 'raw', mediaType: 'text/event-stream' } }, tails.getTail),
  route({ method: 'GET', path: `${ACCOUNT}/audit_logs`, id: 'audit-log-list', access: 'audit:read', summary: 'Changes in an account, the newest first', answer: list('AuditEntry', 'cursor') }, auditLogs.listAuditLogs),
  route({ method: 'GET', path: `${ACCOUNT}/tokens`, id: 'token-list', access: 'tokens:read', summary: 'API tokens of an account', answer: list('Token') }, tokens.listTokens),
  routeWithBody({ method: 'POST', path: `${ACCOUNT}/tokens`, id: 'token-create', access: 'tokens:edit', summary: 'Make an API token; its text is shown this once', answer: created('Token') }, 'TokenCreate', tokens.createToken),
  route({ method: 'GET', path: `${ACCOUNT}/tokens/{token_id}`, id: 'token-get', access: 'tokens:read', summary: 'An API token without its text', answer: one('Token') }, tokens.getToken),
  route({ method: 'DELETE', path: `${ACCOUNT}/tokens/{token_id}`, id: 'token-revoke', access: 'tokens:edit', summary: 'Revoke an API token', answer: one('Deleted') }, tokens.revokeToken),
];

/** Routes that take over from deprecated families; the same handlers of the owner answer them. */
const SUCCESSORS: readonly { readonly family: FamilyId; readonly methods: readonly Method[]; readonly path: string }[] =
  [
    { family: 'page-shield', methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], path: `${ZONE}/page_shield` },
    {
      family: 'page-shield',
      methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      path: `${ZONE}/page_shield/{path...}`,
    },
    {
      family: 'image-direct-upload',
      methods: ['POST'],
      path: '/accounts/{account_identifier}/images/v2/direct_upload',
    },
  ];

/** All routes. The schedule is asked for the paths of the families: its owner may have renamed a segment. */
export function allRoutes(schedule: Schedule): readonly ApiRoute[] {
  const families = DEPRECATIONS.flatMap(row => {
    if (!('family' in row)) return [];
    const { change, routes: paths = [] } = schedule.find(row.id) ?? {};
    return paths.flatMap(({ methods, path }, index) => {
      const current = change?.kind === 'segment-renamed' ? path.replace(`/${change.from}`, `/${change.to}`) : path;
      return methods.map(method => familyRoute(row.id, method, path, current, index));
    });
  });
  const successors = SUCCESSORS.flatMap(({ family, methods, path }, index) =>
    methods.map(method => familyRoute(family, method, path, path, index, 'successor')),
  );
  return [...RESOURCES, ...families, ...successors];
}

function familyRoute(
  family: FamilyId,
  method: Method,
  path: string,
  current: string,
  index: number,
  infix = 'route',
): ApiRoute {
  return {
    method,
    path,
    id: `${family}-${infix}-${index + 1}-${method.toLowerCase()}`,
    access: method === 'GET' ? 'families:read' : 'families:edit',
    summary: `Answered by the owner's handler for ${family}`,
    query: {},
    body: method === 'GET' || method === 'DELETE' ? null : 'any',
    answer: { kind: 'family' },
    handler: { kind: 'family', family, route: current },
  };
}

function deprecatedSetting(zone: string, name: string, method: 'PATCH' | 'POST'): ApiRoute[] {
  const path = `${zone}/settings/${name}`;
  const id = `setting-${name.replaceAll('_', '-')}`;
  return [
    route(
      {
        method: 'GET',
        path,
        id: `${id}-get`,
        access: 'zones:read',
        summary: `The setting ${name}`,
        answer: one('ZoneSetting'),
      },
      zoneSettings.getSetting(name),
    ),
    routeWithBody(
      { method, path, id: `${id}-update`, access: 'zones:edit', summary: `Change ${name}`, answer: one('ZoneSetting') },
      'ZoneSettingUpdate',
      zoneSettings.updateSetting(name),
    ),
  ];
}
