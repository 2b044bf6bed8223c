/** Versions of a function: an upload that does not serve until it is deployed. */

import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { pageOf } from '../state/records.js';
import type { VersionRecord } from '../state/stores.js';
import { changeFunction } from './change-function.js';
import { withUpload } from './functions.js';

export async function listVersions(context: Context): Promise<Reply> {
  const { functionStore, stores } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const versions: VersionRecord[] = [];
  for await (const version of stores.versions.below(context.account, value.name)) versions.push(version);
  versions.sort((a, b) => b.number - a.number);
  const { items, info } = await pageOf(versions, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getVersion(context: Context): Promise<Reply> {
  const name = param(context, 'function_name');
  return {
    result: shown(await context.services.functionStore.version(context.account, name, param(context, 'version_id'))),
  };
}

export async function createVersion(context: Context): Promise<Reply> {
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

function shown({ content_id, ...version }: VersionRecord): unknown {
  return version;
}
