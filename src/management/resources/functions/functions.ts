/** Functions of an account: upload, list, read, delete. */

import { randomUUID } from 'node:crypto';
import { object } from '../../../quotas/schema/schema.js';
import { type Context, pageQuery, param, uploadsOf } from '../../context.js';
import { FUNCTION_METADATA } from '../../function-schemas.js';
import { readForm } from '../../http/body.js';
import { ApiError, type ListReply, type OneReply, type RawReply, type Reply } from '../../http/envelope.js';
import { requireMatch } from '../../http/preconditions.js';
import { Slices } from '../../http/slices.js';
import { ACCOUNT_PATH, FUNCTION_PATH, many, one, type Resource, route } from '../../route.js';
import { DELETED, dateTime, named, nullable, number, string, type ValueOf, version } from '../../schemas.js';
import type { Upload } from '../../state/function-store.js';
import type { FunctionRecord, VersionRecord } from '../../state/stores.js';
import { type ParsedUpload, parseUpload } from '../../uploads.js';
import { changeFunction } from './change-function.js';

const FUNCTION = named(
  'Function',
  object({
    id: string,
    created_on: dateTime,
    modified_on: dateTime,
    version_id: version,
    deployment_id: version,
    startup_time_ms: number({ minimum: 0 }),
    usage_model: nullable(string),
  }),
);

export const FUNCTIONS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/functions`, id: 'function-list', access: 'functions:read', summary: 'Functions of an account', answer: many(FUNCTION) }, listFunctions),
    route({ method: 'GET', path: FUNCTION_PATH, id: 'function-get', access: 'functions:read', summary: 'A function', answer: one(FUNCTION) }, getFunction),
    route({ method: 'PUT', path: FUNCTION_PATH, id: 'function-upload', access: 'functions:edit', summary: 'Upload a function and let it serve', answer: one(FUNCTION) }, uploadFunction, 'upload'),
    route({ method: 'DELETE', path: FUNCTION_PATH, id: 'function-delete', access: 'functions:edit', summary: 'Delete a function', answer: one(DELETED) }, deleteFunction),
    route({ method: 'GET', path: `${FUNCTION_PATH}/content`, id: 'function-content', access: 'functions:read', summary: 'The modules of the version that serves', answer: { kind: 'raw', mediaType: 'multipart/form-data' } }, getContent),
  ],
  schemas: [FUNCTION_METADATA],
};

async function listFunctions(context: Context): Promise<ListReply<typeof FUNCTION>> {
  const { stores } = context.services;
  const { items, info } = await stores.functions.page([context.account], pageQuery(context));
  const result = await Promise.all(items.map(async record => shownFunction(record, await active(context, record))));
  return { result, resultInfo: info };
}

async function getFunction(context: Context): Promise<OneReply<typeof FUNCTION>> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: shownFunction(value, await active(context, value)), etag };
}

/** The modules of the version that serves, as the multipart body that would upload them. */
async function getContent(context: Context): Promise<RawReply> {
  const { functionStore } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const version = await active(context, value);
  const form = new FormData();
  for (const module of await functionStore.modules(context.account, value.name, version)) {
    form.set(module.name, new File([new Uint8Array(module.content)], module.name, { type: MEDIA_TYPES[module.type] }));
  }
  return { result: null, raw: form };
}

const MEDIA_TYPES = {
  esm: 'application/javascript+module',
  script: 'application/javascript',
  json: 'application/json',
  text: 'text/plain',
  data: 'application/octet-stream',
} as const;

/** Makes the function or a new version of it, and lets it serve. */
async function uploadFunction(context: Context): Promise<OneReply<typeof FUNCTION>> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  const name = param(context, 'function_name');
  return withUpload(context, upload =>
    functionStore.locked(account, name, async () => {
      const stored = await stores.functions.get(account, name);
      requireMatch(context.request.headers, stored?.etag);
      const secrets = await functionStore.secrets(account, name);
      for (const [secret, text] of upload.secrets) secrets.set(secret, text);
      const time = now();
      const draft = functionStore.draft(upload, stored?.value.next_version ?? 1, time);
      const deployment = await functionStore.deployment(account, name, draft, { modules: upload.modules, secrets });
      const record: FunctionRecord = {
        name,
        created_on: stored?.value.created_on ?? time.toISOString(),
        modified_on: time.toISOString(),
        version_id: draft.id,
        deployment_id: randomUUID(),
        next_version: draft.number + 1,
        crons: stored?.value.crons ?? [],
        ...(stored?.value.consumers !== undefined && { consumers: stored.value.consumers }),
      };
      const put = stores.functions.put([account, name], record);
      const pruned = [
        ...(await functionStore.pruneVersions(account, name, [])),
        ...(await functionStore.pruneDeployments(account, name)),
      ];
      const startupTimeMs = await functionStore.activate(deployment, stored?.value, startup_time_ms =>
        context.commit([
          ...pruned,
          put.operation,
          stores.versions.put([account, name, draft.id], { ...draft, startup_time_ms }).operation,
          ...functionStore.putContents(account, name, draft, upload.modules),
          ...[...upload.secrets].map(([secret, text]) => functionStore.putSecret(account, name, secret, text, time)),
          deploymentEntry(context, record, startup_time_ms, upload.message),
        ]),
      );
      return { result: shownFunction(record, { ...draft, startup_time_ms: startupTimeMs }), etag: put.etag };
    }),
  );
}

async function deleteFunction(context: Context): Promise<OneReply<typeof DELETED>> {
  const { functionStore, stores } = context.services;
  const { account } = context;
  return changeFunction(context, async name => {
    const routes = await stores.functionRoutes.count(account, name);
    if (routes > 0) throw new ApiError('IN_USE', `The function ${name} has ${routes} routes: delete them first`);
    const operations = [
      stores.functions.del(account, name),
      ...(await stores.versions.delBelow(account, name)),
      ...(await stores.deployments.delBelow(account, name)),
      ...(await stores.secrets.delBelow(account, name)),
      ...(await stores.contents.delBelow(account, name)),
    ];
    // Written first: should the host fail to end it, it is gone after a restart, and the caller can ask again.
    await context.commit(operations);
    await functionStore.remove(account, name);
    return { result: { id: name } };
  });
}

/** Reads the upload inside a place of the queue, so that few bodies are in memory at once, and one of an account. */
export async function withUpload<Result>(
  context: Context,
  use: (upload: ParsedUpload) => Promise<Reply<Result>>,
): Promise<Reply<Result>> {
  const { limits, stores, schemas, functions } = context.services;
  const uploads = uploadsOf(context);
  return stores.ownLock.run(`upload/${context.account}`, () =>
    uploads.add(async () => {
      const slices = new Slices(functions.work(context.account));
      // The metadata is a part besides.
      const bounds = { bytes: limits.uploadBytes, ms: limits.bodyMs, parts: limits.uploadModules + 1 };
      const parts = await readForm(context.request, bounds, slices);
      const upload = parseUpload(parts, limits.bodyBytes, schemas);
      slices.end();
      return use(upload);
    }),
  );
}

export function deploymentEntry(
  context: Context,
  record: FunctionRecord,
  startupTimeMs: number,
  message: Upload['message'],
) {
  const entry = {
    id: record.deployment_id,
    created_on: record.modified_on,
    version_id: record.version_id,
    startup_time_ms: startupTimeMs,
    message,
  };
  return context.services.stores.deployments.put([context.account, record.name, entry.id], entry).operation;
}

function shownFunction(record: FunctionRecord, version: VersionRecord): ValueOf<typeof FUNCTION> {
  return {
    id: record.name,
    created_on: record.created_on,
    modified_on: record.modified_on,
    version_id: record.version_id,
    deployment_id: record.deployment_id,
    startup_time_ms: version.startup_time_ms,
    usage_model: version.usage_model,
  };
}

function active(context: Context, record: FunctionRecord): Promise<VersionRecord> {
  return context.services.functionStore.version(context.account, record.name, record.version_id);
}
