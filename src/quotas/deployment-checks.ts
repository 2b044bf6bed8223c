/** Checks a deployment before it is loaded (specification: Limits, Per plan and rule 11; Bucket binding). */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import { isBindingName } from './binding-name.js';
import { EdgeError } from './errors.js';
import { limitError } from './limit-error.js';
import type { PlainLimitName } from './limits.js';
import type { ResolvedLimits } from './resolve-limits.js';

/** A value of the function's environment: text, or what can be written as JSON. */
export type EnvValue = unknown;

export interface DeploymentToCheck {
  readonly name: string;
  /** Every module of the script: text in UTF-8, or bytes. */
  readonly modules: readonly (string | Uint8Array)[];
  readonly vars?: Readonly<Record<string, EnvValue>>;
  readonly secrets?: Readonly<Record<string, string>>;
  /** Names of buckets, services and everything else that stands in the environment beside vars and secrets. */
  readonly bindings?: readonly string[];
}

/** The results of the check. */
export interface CheckedDeployment {
  /** The size of the script after gzip, which the limit is about; undefined when it is below the limit without compression. */
  readonly scriptBytes: number | undefined;
}

/**
 * Checks a deployment against the limits of its plan.
 *
 * @throws TypeError for a binding that is not a valid JavaScript identifier, or that is listed twice
 * @throws EdgeError EDGE_SCRIPT_TOO_LARGE, EDGE_LIMIT_EXCEEDED
 */
export async function checkDeployment(
  deployment: DeploymentToCheck,
  limits: ResolvedLimits,
): Promise<CheckedDeployment> {
  const { name, modules, vars = {}, secrets = {}, bindings = [] } = deployment;
  const subject = `load function ${JSON.stringify(name)}`;
  checkBindingNames([...Object.keys(vars), ...Object.keys(secrets), ...bindings], subject);

  const variables = [...Object.entries(vars), ...Object.entries(secrets)];
  checkCount('envVars', variables.length, limits, subject);
  for (const [variable, value] of variables) {
    const actual = envValueBytes(value, variable, subject);
    if (actual > limits.envVarBytes) {
      throw limitError('EDGE_LIMIT_EXCEEDED', {
        limit: 'envVarBytes',
        subject,
        measured: `environment variable ${JSON.stringify(variable)}`,
        actual,
        allowed: limits.envVarBytes,
        plan: limits.plan,
      });
    }
  }

  const bytes = modules.map(module => (typeof module === 'string' ? Buffer.from(module) : module));
  const rawBytes = bytes.reduce((sum, { byteLength }) => sum + byteLength, 0);
  // gzip never adds more than this to what it cannot make smaller: most scripts need no compressing to pass.
  if (rawBytes + rawBytes / 1000 + 64 <= limits.scriptBytes) return { scriptBytes: undefined };
  const scriptBytes = await gzippedBytes(bytes, rawBytes);
  if (scriptBytes > limits.scriptBytes) {
    const { scriptBytes: allowed, plan } = limits;
    throw limitError('EDGE_SCRIPT_TOO_LARGE', { limit: 'scriptBytes', subject, actual: scriptBytes, allowed, plan });
  }
  return { scriptBytes };
}

/** The limits on how many of something there may be. */
export type CountLimitName = Extract<
  PlainLimitName,
  'envVars' | 'envVarsPerAccount' | 'functions' | 'cronTriggers' | 'routesPerZone' | 'zonesPerFunction'
>;

/**
 * Checks how many of something there would be: functions or cron triggers of the account, routes of a zone, zones of a function.
 *
 * @param subject what cannot be done otherwise: `load function "hello"`
 * @throws EdgeError EDGE_LIMIT_EXCEEDED
 */
export function checkCount(limit: CountLimitName, actual: number, limits: ResolvedLimits, subject: string): void {
  const allowed = limits[limit];
  if (actual <= allowed) return;
  throw limitError('EDGE_LIMIT_EXCEEDED', { limit, subject, actual, allowed, plan: limits.plan });
}

/** @throws TypeError for a binding that is not a valid JavaScript identifier, or that is listed twice */
export function checkBindingNames(names: readonly string[], subject: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (!isBindingName(name)) {
      throw new TypeError(
        `Cannot ${subject}: the binding ${JSON.stringify(name.slice(0, 100))} is not a valid JavaScript identifier`,
      );
    }
    if (seen.has(name)) throw new TypeError(`Cannot ${subject}: the binding ${JSON.stringify(name)} is listed twice`);
    seen.add(name);
  }
}

function envValueBytes(value: EnvValue, variable: string, subject: string): number {
  const text = typeof value === 'string' ? value : toJson(value);
  if (text !== undefined) return Buffer.byteLength(text);
  throw new TypeError(
    `Cannot ${subject}: environment variable ${JSON.stringify(variable)} is neither a string nor a JSON value`,
  );
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** The modules one after the other, as an upload would carry them, in a thread of the pool. */
async function gzippedBytes(bytes: readonly Uint8Array[], rawBytes: number): Promise<number> {
  if (rawBytes > MAX_RAW_BYTES) {
    throw new EdgeError(
      'EDGE_SCRIPT_TOO_LARGE',
      `Cannot load a script of ${rawBytes} bytes before gzip: more than ${MAX_RAW_BYTES} bytes never fit the memory of an isolate`,
    );
  }
  return (await promisify(gzip)(Buffer.concat(bytes))).byteLength;
}

/** A script that gzip makes small is still held as text: beyond this it cannot run, so it is not compressed to find out. */
const MAX_RAW_BYTES = 256 * 1024 * 1024;
