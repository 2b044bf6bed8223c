/** Versions of a function: an upload that does not serve until it is deployed. */

import { list, object } from '../../../quotas/schema/schema.js';
import { type Context, pageQuery, param } from '../../context.js';
import { ApiError, type ListReply, type OneReply } from '../../http/envelope.js';
import { created, FUNCTION_PATH, many, one, type Resource, route } from '../../route.js';
import { anyObject, dateTime, integer, named, nullable, number, string, type ValueOf, version } from '../../schemas.js';
import { pageOf } from '../../state/records.js';
import type { VersionRecord } from '../../state/stores.js';
import { changeFunction } from './change-function.js';
import { withUpload } from './functions.js';

const FUNCTION_VERSION = named(
  'FunctionVersion',
  object({
    id: version,
    number: integer,
    created_on: dateTime,
    main: string,
    modules: list(object({ name: string, type: string, size: integer })),
    hash: string,
    startup_time_ms: number({ minimum: 0 }),
    compatibility_date: nullable(string),
    compatibility_flags: list(string),
    bindings: list(anyObject),
    limits: anyObject,
    usage_model: nullable(string),
    'tail_consumers?': list(anyObject),
    'egress?': anyObject,
    message: nullable(string),
  }),
);

export const VERSIONS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/versions`, id: 'version-list', access: 'functions:read', summary: 'Versions of a function, the newest first', answer: many(FUNCTION_VERSION) }, listVersions),
    route({ method: 'POST', path: `${FUNCTION_PATH}/versions`, id: 'version-create', access: 'functions:edit', summary: 'Upload a version that does not serve yet', answer: created(FUNCTION_VERSION) }, createVersion, 'upload'),
    route({ method: 'GET', path: `${FUNCTION_PATH}/versions/{version_id}`, id: 'version-get', access: 'functions:read', summary: 'A version', answer: one(FUNCTION_VERSION) }, getVersion),
  ],
};

async function listVersions(context: Context): Promise<ListReply<typeof FUNCTION_VERSION>> {
  const { functionStore, stores } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const versions: VersionRecord[] = [];
  for await (const version of stores.versions.below(context.account, value.name)) versions.push(version);
  versions.sort((a, b) => b.number - a.number);
  const { items, info } = await pageOf(versions, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

async function getVersion(context: Context): Promise<OneReply<typeof FUNCTION_VERSION>> {
  const name = param(context, 'function_name');
  return {
    result: shown(await context.services.functionStore.version(context.account, name, param(context, 'version_id'))),
  };
}

async function createVersion(context: Context): Promise<OneReply<typeof FUNCTION_VERSION>> {
  const { functionStore, functions, stores, now } = context.services;
  const { account } = context;
  return withUpload(context, upload =>
    changeFunction(context, async (name, stored) => {
      if (upload.secrets.size > 0) {
        throw new ApiError(
          'BODY_INVALID',
          'metadata: secrets are not part of a version: set them at the route /secrets',
        );
      }
      const draft = functionStore.draft(upload, stored.next_version, now());
      const deployment = await functionStore.deployment(account, name, draft, { modules: upload.modules });
      const { startupTimeMs } = await functions.validate(deployment);
      const version = { ...draft, startup_time_ms: startupTimeMs };
      const record = { ...stored, next_version: draft.number + 1 };
      await context.commit([
        ...(await functionStore.pruneVersions(account, name, [record.version_id])),
        stores.functions.put([account, name], record).operation,
        stores.versions.put([account, name, version.id], version).operation,
        ...functionStore.putContents(account, name, version, upload.modules),
      ]);
      return { result: shown(version) };
    }),
  );
}

function shown({ content_id, ...version }: VersionRecord): ValueOf<typeof FUNCTION_VERSION> {
  return version;
}
