/** The syntax of path parameters by name. The resource of a binding brings its own. */

import type { JsonSchema } from '../../quotas/schema/schema.js';

export interface PathParameter {
  readonly schema: JsonSchema & { readonly pattern: string };
  readonly example: string;
}

/** Path parameters by name. */
export type PathParameters = Readonly<Record<string, PathParameter>>;

export function parameter(pattern: string, example: string): PathParameter {
  return { schema: { type: 'string', pattern }, example };
}

const hexId = (example: string): PathParameter => parameter('^[0-9a-f]{32}$', example);
const uuid = parameter('^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '6f1d3c0e-6d0f-4c4e-8a53-2f5c6a1b7c9d');
/** Identifiers that the owner of the host assigns. */
const foreign = parameter('^[A-Za-z0-9._~-]{1,128}$', 'a1b2c3');
/** The names that the host accepts, see NAME in config-schema/function-shapes.ts. */
const HOST_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';
const account = parameter(HOST_NAME, 'acme');
const zone = hexId('023e105f4ecef8ad9ca31a8372d0c353');

const PARAMETERS: PathParameters = {
  zone_id: zone,
  zone_identifier: zone,
  dns_record_id: hexId('372e67954025e0ba6aaa6d586b9e0b59'),
  route_id: hexId('9a7806061c88ada191ed06f989cc3dac'),
  account_id: account,
  account_identifier: account,
  organization_identifier: account,
  function_name: parameter(HOST_NAME, 'hello'),
  version_id: uuid,
  deployment_id: uuid,
  secret_name: parameter('^[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]{0,254}$', 'API_KEY'),
  token_id: parameter('^[0-9a-f]{16}$', '1f2e3d4c5b6a7988'),
  setting_id: parameter('^[a-z][a-z0-9_]{0,63}$', 'always_use_https'),
  deprecation_id: parameter('^[a-z0-9-]{1,64}$', 'rate-limits'),
  /** The rest of a path. */
  path: parameter('^[A-Za-z0-9._~/-]{1,1024}$', 'scripts'),
};

const compiled = new Map<string, RegExp>();

/** `own` are the parameters of the route's resource. */
export function parameterSchema(name: string, own: PathParameters = {}): PathParameter {
  return own[name] ?? PARAMETERS[name] ?? foreign;
}

/** Describes the defect of a value of the path; null when it is valid. */
export function parameterProblem(name: string, value: string, own?: PathParameters): string | null {
  const { pattern } = parameterSchema(name, own).schema;
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = new RegExp(pattern, 'u');
    compiled.set(pattern, expression);
  }
  if (expression.test(value) && value !== '.' && value !== '..') return null;
  return `{${name}} must match ${pattern}, got ${JSON.stringify(value.slice(0, 100))}`;
}
