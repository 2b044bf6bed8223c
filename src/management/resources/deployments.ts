/** Deployments of a function: which version served from when on. */

import { randomUUID } from 'node:crypto';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { pageOf } from '../state/records.js';
import type { DeploymentRecord } from '../state/stores.js';
import { changeFunction } from './change-function.js';
import { deploymentEntry } from './functions.js';

export async function listDeployments(context: Context): Promise<Reply> {
  const { functionStore, stores } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const deployments: DeploymentRecord[] = [];
  for await (const deployment of stores.deployments.below(context.account, value.name)) deployments.push(deployment);
  // The newest first; the one that serves before another of the same instant.
  deployments.sort((a, b) => b.created_on.localeCompare(a.created_on) || (b.id === value.deployment_id ? 1 : -1));
  const { items, info } = await pageOf(deployments, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getDeployment(context: Context): Promise<Reply> {
  const id = param(context, 'deployment_id');
  const stored = await context.services.stores.deployments.get(context.account, param(context, 'function_name'), id);
  if (stored === undefined) throw new ApiError('NOT_FOUND', `The function has no deployment ${id}`);
  return { result: shown(stored.value) };
}

export async function createDeployment(context: Context, body: Bodies['DeploymentCreate']): Promise<Reply> {
  const { functionStore, stores, now } = context.services;
  const { account } = context;
  const [share, second] = body.versions;
  if (share === undefined || second !== undefined || share.percentage !== 100) {
    throw new ApiError('NOT_SUPPORTED', '/versions must be one version with a percentage of 100: traffic is not split');
  }
  return changeFunction(context, async (name, stored) => {
    const version = await functionStore.version(account, name, share.version_id);
    const record = {
      ...stored,
      version_id: version.id,
      deployment_id: randomUUID(),
      modified_on: now().toISOString(),
    };
    const put = stores.functions.put([account, name], record);
    const pruned = await functionStore.pruneDeployments(account, name);
    const message = body.message ?? null;
    const startupTimeMs = await functionStore.activate(
      await functionStore.deployment(account, name, version),
      stored,
      ms => context.commit([...pruned, put.operation, deploymentEntry(context, record, ms, message)]),
    );
    const { deployment_id: id, modified_on: created_on, version_id } = record;
    return { result: shown({ id, created_on, version_id, startup_time_ms: startupTimeMs, message }), etag: put.etag };
  });
}

function shown({ version_id, ...deployment }: DeploymentRecord): unknown {
  return { ...deployment, versions: [{ version_id, percentage: 100 }] };
}
