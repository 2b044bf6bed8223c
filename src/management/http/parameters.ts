/** The syntax of each path parameter, by name. */

import type { JsonSchema } from '../../quotas/schema/schema.js';

interface Parameter {
  readonly schema: JsonSchema & { readonly pattern: string };
  readonly example: string;
}

const hexId = (example: string): Parameter => ({ schema: { type: 'string', pattern: '^[0-9a-f]{32}$' }, example });
const uuid: Parameter = {
  schema: { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' },
  example: '6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d',
};
/** Identifiers that the owner of the host assigns. */
const foreign: Parameter = { schema: { type: 'string', pattern: '^[A-Za-z0-9._~-]{1,128}$' }, example: 'a1b2c3' };
/** The names that the host accepts, see NAME in config-schema/function-shapes.ts. */
const HOST_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';
const account: Parameter = { schema: { type: 'string', pattern: HOST_NAME }, example: 'acme' };
const zone = hexId('023e105f4ecef8ad9ca31a8372d0c353');

const PARAMETERS: Readonly<Record<string, Parameter>> = {
  zone_id: zone,
  zone_identifier: zone,
  dns_record_id: hexId('372e67954025e0ba6aaa6d586b9e0b59'),
  route_id: hexId('9a7806061c88ada191ed06f989cc3dac'),
  account_id: account,
  account_identifier: account,
  organization_identifier: account,
  function_name: { schema: { type: 'string', pattern: HOST_NAME }, example: 'hello' },
  version_id: uuid,
  deployment_id: uuid,
  secret_name: {
    schema: { type: 'string', pattern: '^[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]{0,254}$' },
    example: 'API_KEY',
  },
  bucket_name: { schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$' }, example: 'files' },
  database_id: { schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }, example: 'main' },
  namespace_id: { schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }, example: 'sessions' },
  /** Any text, percent-encoded. */
  key_name: { schema: { type: 'string', pattern: '^[^]{1,512}$' }, example: 'user:1' },
  queue_name: { schema: { type: 'string', pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$' }, example: 'jobs' },
  token_id: { schema: { type: 'string', pattern: '^[0-9a-f]{16}$' }, example: '1f2e3d4c5b6a7988' },
  setting_id: { schema: { type: 'string', pattern: '^[a-z][a-z0-9_]{0,63}$' }, example: 'always_use_https' },
  deprecation_id: { schema: { type: 'string', pattern: '^[a-z0-9-]{1,64}$' }, example: 'rate-limits' },
  /** The rest of a path. */
  path: { schema: { type: 'string', pattern: '^[A-Za-z0-9._~/-]{1,1024}$' }, example: 'scripts' },
};

const compiled = new Map<string, RegExp>();

export function parameterSchema(name: string): Parameter {
  return PARAMETERS[name] ?? foreign;
}

/** Describes the defect of a value of the path; null when it is valid. */
export function parameterProblem(name: string, value: string): string | null {
  const { pattern } = parameterSchema(name).schema;
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = new RegExp(pattern, 'u');
    compiled.set(pattern, expression);
  }
  if (expression.test(value) && value !== '.' && value !== '..') return null;
  return `{${name}} must match ${pattern}, got ${JSON.stringify(value.slice(0, 100))}`;
}
