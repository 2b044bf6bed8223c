/** The usage of accounts by day and function, for billing: as JSON, and as CSV. */

import { INVOCATION_KINDS } from '../../quotas/limits.js';
import { choice, list, object, type Schema, text } from '../../quotas/schema/schema.js';
import { usageCsv } from '../../usage/usage-csv.js';
import { USAGE_BY } from '../../usage/usage-query.js';
import type { UsageReport } from '../../usage/usage-report.js';
import { CALL_KINDS, INVOCATION_OUTCOMES } from '../../usage/usage-slots.js';
import type { Context } from '../context.js';
import { ApiError, type ListReply, type OneReply, type PageInfo, type RawReply, refusalOf } from '../http/envelope.js';
import type { UsageRange } from '../ports.js';
import { ACCOUNT_PATH, many, one, type QueryOf, type Resource, route } from '../route.js';
import { dateTime, day, integer, named, nullable, number, string, type ValueOf } from '../schemas.js';
import { pageInfo } from '../state/records.js';
import type { Principal } from '../state/tokens.js';

const DAY = text({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'a day (UTC) as YYYY-MM-DD' });

/** The query of one account. Without days the query is for this month, today included. */
const USAGE_RANGE = { from: DAY, to: DAY, by: { ...choice(USAGE_BY), default: 'day' } };

/** The query of several accounts, by pages: each has a report of its own, which may be long. */
const USAGE_PAGE = {
  ...USAGE_RANGE,
  page: { type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 },
  per_page: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
};

type RangeContext = Context<QueryOf<typeof USAGE_RANGE>>;

/** The records of an answer, which is made and held at once. */
const MAX_RECORDS = 50_000;

const counts = (names: readonly string[]): Schema<Readonly<Record<string, number>>> =>
  object(Object.fromEntries(names.map(name => [name, integer])));

const USAGE_REPORT = named(
  'UsageReport',
  object({
    account: string,
    from: day,
    to: day,
    as_of: dateTime,
    records: list(
      object({
        day: nullable(day),
        function: nullable(string),
        invocations: integer,
        requests: integer,
        kinds: counts(INVOCATION_KINDS),
        outcomes: counts(INVOCATION_OUTCOMES),
        request_outcomes: counts(INVOCATION_OUTCOMES),
        cpu_ms: number(),
        wall_ms: number(),
        request_bytes: integer,
        response_bytes: integer,
        subrequests: integer,
        egress_sent_bytes: integer,
        egress_received_bytes: integer,
        cache_hits: integer,
        cache_stale_hits: integer,
        cache_misses: integer,
        cache_bytes: integer,
        runs: integer,
        tool_calls: integer,
        tool_ms: number(),
        calls: counts(CALL_KINDS),
      }),
    ),
    stored: object({ bytes: integer, objects: integer }),
    storage: list(
      object({
        day: nullable(day),
        byte_hours: number(),
        object_hours: number(),
      }),
    ),
  }),
);

export const USAGE_RECORDS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/usage/records`, id: 'usage-records', access: 'usage:read', summary: 'What an account has used, by day and function', query: USAGE_RANGE, answer: one(USAGE_REPORT) }, getAccountRecords),
    route({ method: 'GET', path: `${ACCOUNT_PATH}/usage/csv`, id: 'usage-csv', access: 'usage:read', summary: 'The same as CSV (RFC 4180)', query: USAGE_RANGE, answer: { kind: 'raw', mediaType: 'text/csv' } }, getAccountCsv),
    route({ method: 'GET', path: '/usage/records', id: 'usage-records-list', access: 'usage:read', summary: 'What the accounts that the token may see have used', query: USAGE_PAGE, answer: many(USAGE_REPORT) }, listRecords),
    route({ method: 'GET', path: '/usage/csv', id: 'usage-csv-list', access: 'usage:read', summary: 'The same as CSV (RFC 4180)', query: USAGE_PAGE, answer: { kind: 'raw', mediaType: 'text/csv' } }, listCsv),
  ],
};

async function getAccountRecords(context: RangeContext): Promise<OneReply<typeof USAGE_REPORT>> {
  return { result: shown(await reportOf(context, context.account)) };
}

async function getAccountCsv(context: RangeContext): Promise<RawReply> {
  return csvOf([await reportOf(context, context.account)]);
}

/** Lists the usage of the accounts that the token may see. */
async function listRecords(context: RangeContext): Promise<ListReply<typeof USAGE_REPORT>> {
  const { reports, info } = await pageOfReports(context);
  return { result: reports.map(shown), resultInfo: info };
}

async function listCsv(context: RangeContext): Promise<RawReply> {
  return csvOf((await pageOfReports(context)).reports);
}

async function pageOfReports(context: RangeContext): Promise<{ reports: UsageReport[]; info: PageInfo }> {
  const { principal, query, services } = context;
  const { page, per_page: perPage } = query;
  // A customer does not have the accounts of others looked through.
  const accounts = isOwner(principal)
    ? await checked(() => services.functions.usageAccounts(rangeOf(context)))
    : [principal.account];
  const wanted = accounts.slice((page - 1) * perPage, page * perPage);
  const reports: UsageReport[] = [];
  let records = 0;
  for (const account of wanted) {
    const report = await reportOf(context, account);
    records += report.records.length;
    if (records > MAX_RECORDS) {
      throw new ApiError(
        'QUERY_INVALID',
        `Query: the usage of these accounts has more than ${MAX_RECORDS} records: ask for fewer days or with a smaller per_page`,
      );
    }
    reports.push(report);
  }
  return { reports, info: pageInfo({ page, perPage }, reports.length, accounts.length) };
}

async function reportOf(context: RangeContext, account: string): Promise<UsageReport> {
  const { functions, stores } = context.services;
  const asker = { isOwner: isOwner(context.principal) };
  // One at a time: each may read a lot.
  const report = await stores.ownLock.run(`usage/${account}`, () =>
    checked(() => functions.usageReport(account, rangeOf(context), asker)),
  );
  if (report.records.length <= MAX_RECORDS) return report;
  throw new ApiError(
    'QUERY_INVALID',
    `Query: the usage of account ${JSON.stringify(account)} has ${report.records.length} records, at most ${MAX_RECORDS} are answered: ask for fewer days`,
  );
}

/** A token for all accounts is the owner's. */
function isOwner({ account }: Principal): boolean {
  return account === '*';
}

function rangeOf({ query: { from, to, by } }: RangeContext): UsageRange {
  return {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(by !== undefined && { by }),
  };
}

/** Reports errors that the schema of the query cannot express, such as days that do not exist. */
async function checked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw refusalOf(error, 'QUERY_INVALID', 'Query: ');
  }
}

async function csvOf(reports: readonly UsageReport[]): Promise<RawReply> {
  const lines: string[] = [];
  for await (const line of usageCsv(reports)) lines.push(line);
  return { result: null, raw: lines.join(''), mediaType: 'text/csv; charset=utf-8; header=present' };
}

function shown({ account, from, to, asOf, records, stored, storage }: UsageReport): ValueOf<typeof USAGE_REPORT> {
  return {
    account,
    from,
    to,
    as_of: asOf.toISOString(),
    records: records.map(record => ({
      day: record.day ?? null,
      function: record.function ?? null,
      invocations: record.invocations,
      requests: record.requests,
      kinds: record.kinds,
      outcomes: record.outcomes,
      request_outcomes: record.requestOutcomes,
      cpu_ms: record.cpuMs,
      wall_ms: record.wallMs,
      request_bytes: record.requestBytes,
      response_bytes: record.responseBytes,
      subrequests: record.subrequests,
      egress_sent_bytes: record.egressSentBytes,
      egress_received_bytes: record.egressReceivedBytes,
      cache_hits: record.cacheHits,
      cache_stale_hits: record.cacheStaleHits,
      cache_misses: record.cacheMisses,
      cache_bytes: record.cacheBytes,
      runs: record.runs,
      tool_calls: record.toolCalls,
      tool_ms: record.toolMs,
      calls: record.calls,
    })),
    stored,
    storage: storage.map(({ day, byteHours, objectHours }) => ({
      day: day ?? null,
      byte_hours: byteHours,
      object_hours: objectHours,
    })),
  };
}
