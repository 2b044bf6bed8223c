/** `edgehost check`: what loading would say, without serving anything. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Account } from '../host/account.js';
import { locationOf } from '../host/deploy/bundle/function-error.js';
import { CONFIG_NAME } from '../host/deploy/wrangler/find-file.js';
import { EdgeHost } from '../host/edge-host.js';
import { errorCode, messageOf, type SourceLocation } from '../quotas/errors.js';
import { PLANS } from '../quotas/limits.js';
import { type EnvFile, readEnvFile, withEnv } from './functions/env-file.js';
import { findFunctions } from './functions/find-functions.js';
import { FunctionSource, type ReadFunction } from './functions/function-source.js';
import { indented, shownMs } from './serving/lines.js';
import { forEachFunction } from './serving/load-accounts.js';
import { isServerFile, readServerFile } from './serving/server-file.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, command } from './terminal/command.js';
import { type Paint, paintFor } from './terminal/style.js';

const SYNTAX = {
  name: 'check',
  paths: '[FILE|DIR]',
  count: { min: 0, max: 1 },
  about: `Checks configuration and scripts as loading them would: every key, every import, the syntax, and the global scope,
which runs under the limits of the plan. Takes what edgehost dev takes, and the configuration file of edgehost serve.`,
  sections: [
    [
      'Exit codes',
      `0  everything would load
1  something would not
2  the arguments cannot be used, or there is nothing to check`,
    ],
  ],
  options: {
    plan: {
      kind: 'choice',
      value: 'PLAN',
      choices: PLANS,
      text: `limits that apply: ${PLANS.join(', ')}; default standard`,
    },
    env: {
      kind: 'text',
      short: 'e',
      value: 'NAME',
      text: 'environment of wrangler.toml, .json or .jsonc; default that of CLOUDFLARE_ENV, or its top level',
    },
    'env-file': { kind: 'text', value: 'FILE', text: 'lines of NAME=value, as edgehost dev takes them' },
    json: { kind: 'flag', text: 'one JSON object a function and line' },
  },
  examples: ['edgehost check', 'edgehost check functions', 'edgehost check server.toml --json'],
} as const satisfies Syntax;

/** The result for one function, or for a file that prevents all of them from being read. */
interface Finding {
  readonly account: string | undefined;
  readonly function: string;
  readonly isOk: boolean;
  readonly startupMs: number | undefined;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly location: SourceLocation | undefined;
  readonly warnings: readonly string[];
}

export const CHECK = command(SYNTAX, async ({ values, paths }, io) => {
  const path = paths[0] ?? '.';
  const paint = paintFor(io);
  let errors = 0;
  const report = (finding: Finding): void => {
    if (!finding.isOk) errors += 1;
    io.out(values.json ? `${JSON.stringify(finding)}\n` : lineOf(finding, paint));
  };
  const isServer = await isFileOfServer(path);
  if (isServer) await checkServer(path, report);
  else {
    const envFile = values['env-file'];
    const env = envFile === undefined ? {} : await orUnusable(readEnvFile(envFile));
    const usual = io.env.CLOUDFLARE_ENV;
    await checkFunctions(path, { plan: values.plan, env, report, environment: values.env, usualEnvironment: usual });
  }
  return errors > 0 ? 1 : 0;
});

async function orUnusable<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw new CommandError(2, messageOf(error), { cause: error });
  });
}

async function isFileOfServer(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  if (info?.isFile() !== true || !path.endsWith('.toml') || resolve(path).endsWith(`/${CONFIG_NAME}`)) return false;
  return isServerFile(path);
}

interface CheckOptions {
  readonly plan: (typeof PLANS)[number] | undefined;
  readonly env: EnvFile;
  readonly report: (finding: Finding) => void;
  readonly environment: string | undefined;
  readonly usualEnvironment: string | undefined;
}

async function checkFunctions(path: string, { plan, env, report, ...environments }: CheckOptions): Promise<void> {
  const { places } = await orUnusable(findFunctions(path));
  const host = new EdgeHost({ storage: ':memory:', spareIsolates: 0, ...(plan !== undefined && { plan }) });
  try {
    for (const place of places)
      report(
        await checkPlace(
          host.account('default'),
          new FunctionSource(place, { mode: 'production', ...environments }),
          env,
        ),
      );
  } finally {
    await host.close();
  }
}

async function checkPlace(account: Account, source: FunctionSource, env: EnvFile): Promise<Finding> {
  try {
    const read = await source.read();
    const { startupTimeMs } = await account.check(read.source, withEnv(read.options, env));
    return passed(undefined, read, startupTimeMs);
  } catch (error) {
    return failed(undefined, source.place.name, error);
  } finally {
    await source.dispose();
  }
}

/** Loads the checked functions, too, without their crons: then routes that collide are found. */
async function checkServer(path: string, report: (finding: Finding) => void): Promise<void> {
  let host: EdgeHost | undefined;
  try {
    const file = await readServerFile(path);
    host = new EdgeHost({ ...file.hostOptions, storage: ':memory:', spareIsolates: 0 });
    const failures = await forEachFunction(host, file.accounts, async ({ account, read }) => {
      const { startupTimeMs } = await account.check(read.source, read.options);
      await account.load(read.source, { ...read.options, crons: [] });
      report(passed(account.id, read, startupTimeMs));
    });
    for (const { account, function: name, error } of failures) report(failed(account, name, error));
  } catch (error) {
    report(failed(undefined, path, error));
  } finally {
    await host?.close();
  }
}

function passed(account: string | undefined, { options, warnings }: ReadFunction, startupMs: number): Finding {
  const nothing = { code: undefined, message: undefined, location: undefined };
  return { account, function: options.name, isOk: true, startupMs, ...nothing, warnings };
}

function failed(account: string | undefined, name: string, error: unknown): Finding {
  return {
    account,
    function: name,
    isOk: false,
    startupMs: undefined,
    code: errorCode(error),
    message: messageOf(error),
    location: locationOf(error),
    warnings: [],
  };
}

function lineOf(finding: Finding, paint: Paint): string {
  const { account, function: name, isOk, startupMs = 0, code, message = '', warnings } = finding;
  const full = [account, name].filter(part => part !== undefined && part !== '').join('/');
  const more = warnings.map(warning => `  ${paint('yellow', 'warning')} ${indented(warning).trim()}\n`).join('');
  if (isOk) return `${paint('green', 'ok   ')} ${paint('bold', full)} (global scope ${shownMs(startupMs)})\n${more}`;
  const shownCode = code === undefined ? '' : paint('gray', ` (${code})`);
  return `${paint('red', 'error')} ${paint('bold', full)}${shownCode}\n${indented(message)}\n`;
}
