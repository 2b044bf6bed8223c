/** Functions of an account: upload, list, read, delete. */

import { randomUUID } from 'node:crypto';
import { type Context, pageQuery, param } from '../context.js';
import { readForm } from '../http/body.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { requireMatch } from '../http/preconditions.js';
import { Slices } from '../http/slices.js';
import type { Upload } from '../state/function-store.js';
import type { FunctionRecord, VersionRecord } from '../state/stores.js';
import { type ParsedUpload, parseUpload } from '../uploads.js';
import { changeFunction } from './change-function.js';

export async function listFunctions(context: Context): Promise<Reply> {
  const { stores } = context.services;
  const { items, info } = await stores.functions.page([context.account], pageQuery(context));
  const result = await Promise.all(items.map(async record => shownFunction(record, await active(context, record))));
  return { result, resultInfo: info };
}

export async function getFunction(context: Context): Promise<Reply> {
  const { value, etag } = await context.services.functionStore.get(context.account, param(context, 'function_name'));
  return { result: shownFunction(value, await active(context, value)), etag };
}

/** The modules of the version that serves, as the multipart body that would upload them. */
export async function getContent(context: Context): Promise<Reply> {
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
export async function uploadFunction(context: Context): Promise<Reply> {
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

export async function deleteFunction(context: Context): Promise<Reply> {
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
export async function withUpload(context: Context, use: (upload: ParsedUpload) => Promise<Reply>): Promise<Reply> {
  const { uploads, limits, stores, bindings, functions } = context.services;
  if (uploads.size >= limits.uploadsWaiting) {
    throw new ApiError('UNAVAILABLE', `${uploads.size} uploads are waiting: retry later`, {
      headers: { 'retry-after': '10' },
    });
  }
  return stores.ownLock.run(`upload/${context.account}`, () =>
    uploads.add(async () => {
      const slices = new Slices(functions.work(context.account));
      // The metadata is a part besides.
      const bounds = { bytes: limits.uploadBytes, ms: limits.bodyMs, parts: limits.uploadModules + 1 };
      const parts = await readForm(context.request, bounds, slices);
      const upload = parseUpload(parts, limits.bodyBytes, bindings);
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

export function shownFunction(record: FunctionRecord, version: VersionRecord): unknown {
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
