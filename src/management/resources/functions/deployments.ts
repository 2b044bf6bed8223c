/** Deployments of a function: which version served from when on. */

import { randomUUID } from 'node:crypto';
import { list, object, type Schema } from '../../../quotas/schema/schema.js';
import { type Context, pageQuery, param } from '../../context.js';
import { ApiError, type ListReply, type OneReply } from '../../http/envelope.js';
import { created, FUNCTION_PATH, many, one, type Resource, route, routeWithBody } from '../../route.js';
import { body, dateTime, message, named, nullable, number, string, type ValueOf, version } from '../../schemas.js';
import { pageOf } from '../../state/records.js';
import type { DeploymentRecord } from '../../state/stores.js';
import { changeFunction } from './change-function.js';
import { deploymentEntry } from './functions.js';

const percentage: Schema<number> = { type: 'number', minimum: 0, maximum: 100 };

const DEPLOYMENT_CREATE = body(
  'DeploymentCreate',
  object({
    versions: list(object({ version_id: version, percentage }), { minItems: 1, maxItems: 2 }),
    'message?': message,
  }),
  { versions: [{ version_id: '6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d', percentage: 100 }] },
);
const DEPLOYMENT = named(
  'Deployment',
  object({
    id: version,
    created_on: dateTime,
    versions: list(object({ version_id: version, percentage: number() })),
    startup_time_ms: number({ minimum: 0 }),
    message: nullable(string),
  }),
);

export const DEPLOYMENTS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${FUNCTION_PATH}/deployments`, id: 'deployment-list', access: 'functions:read', summary: 'Deployments of a function, the newest first', answer: many(DEPLOYMENT) }, listDeployments),
    routeWithBody({ method: 'POST', path: `${FUNCTION_PATH}/deployments`, id: 'deployment-create', access: 'functions:edit', summary: 'Let a version serve', answer: created(DEPLOYMENT) }, DEPLOYMENT_CREATE, createDeployment),
    route({ method: 'GET', path: `${FUNCTION_PATH}/deployments/{deployment_id}`, id: 'deployment-get', access: 'functions:read', summary: 'A deployment', answer: one(DEPLOYMENT) }, getDeployment),
  ],
};

async function listDeployments(context: Context): Promise<ListReply<typeof DEPLOYMENT>> {
  const { functionStore, stores } = context.services;
  const { value } = await functionStore.get(context.account, param(context, 'function_name'));
  const deployments: DeploymentRecord[] = [];
  for await (const deployment of stores.deployments.below(context.account, value.name)) deployments.push(deployment);
  // The newest first; the one that serves before another of the same instant.
  deployments.sort((a, b) => b.created_on.localeCompare(a.created_on) || (b.id === value.deployment_id ? 1 : -1));
  const { items, info } = await pageOf(deployments, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

async function getDeployment(context: Context): Promise<OneReply<typeof DEPLOYMENT>> {
  const id = param(context, 'deployment_id');
  const stored = await context.services.stores.deployments.get(context.account, param(context, 'function_name'), id);
  if (stored === undefined) throw new ApiError('NOT_FOUND', `The function has no deployment ${id}`);
  return { result: shown(stored.value) };
}

async function createDeployment(
  context: Context,
  body: ValueOf<typeof DEPLOYMENT_CREATE>,
): Promise<OneReply<typeof DEPLOYMENT>> {
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

function shown({ version_id, ...deployment }: DeploymentRecord): ValueOf<typeof DEPLOYMENT> {
  return { ...deployment, versions: [{ version_id, percentage: 100 }] };
}
