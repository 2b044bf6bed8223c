/** `edgehost serve`: accounts and functions of a configuration file, in production. */

import { locationOf } from '../host/deploy/bundle/function-error.js';
import { EdgeHost } from '../host/edge-host.js';
import { errorCode, messageOf } from '../quotas/errors.js';
import { applyMigrations } from './functions/apply-migrations.js';
import { listen } from './serving/http-server.js';
import { type AccountFunction, forEachFunction } from './serving/load-accounts.js';
import { openStorage } from './serving/open-storage.js';
import { reporterFor, reportHost } from './serving/reporter.js';
import { sandboxOf } from './serving/sandbox-line.js';
import { withScheduledEndpoint } from './serving/scheduled-endpoint.js';
import type { Report, ServedFunction } from './serving/server-event.js';
import { readServerFile, type ServerFile } from './serving/server-file.js';
import { untilStopped } from './serving/until-stopped.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, type CommandIo, command, type ExitCode } from './terminal/command.js';

const SYNTAX = {
  name: 'serve',
  paths: 'FILE',
  count: { min: 1, max: 1 },
  about: `Serves the accounts and functions of a configuration file until it gets SIGINT or SIGTERM: then it takes no new
connection, finishes what runs for up to drain_ms, and ends. Prints what functions log, invocations that fail, and
limits that are near.`,
  sections: [
    [
      'The file, for example (docs/cli.md has every key)',
      `host = "0.0.0.0"
port = 8080
storage = "/var/lib/edgehost"

[[accounts]]
id = "acme"
plan = "free"
zones = ["acme.example"]
functions = ["acme/notes", { path = "acme/hello.js", routes = ["acme.example/hello"] }]`,
    ],
  ],
  options: {
    port: { kind: 'number', short: 'p', value: 'N', min: 0, max: 65_535, text: 'in place of the port of the file' },
    host: { kind: 'text', value: 'ADDRESS', text: 'in place of the host of the file' },
    'keep-going': { kind: 'flag', text: 'serve the others when a function does not load, instead of nothing' },
    'test-scheduled': {
      kind: 'flag',
      text: `for tests: whoever reaches the port can run scheduled handlers,
by /__edgehost/scheduled?account=ID&function=NAME`,
    },
    json: { kind: 'flag', text: 'one JSON object a line, in place of text for people' },
  },
  examples: ['edgehost check server.toml && edgehost serve server.toml', 'edgehost serve server.toml --json --port 80'],
} as const satisfies Syntax;

export const SERVE = command(SYNTAX, async ({ values, paths }, io) => {
  const file = await readServerFile(paths[0] ?? '').catch((error: unknown) => {
    throw new CommandError(2, messageOf(error), { cause: error });
  });
  const report = reporterFor(io, { isJson: values.json, hasAccounts: true });
  const host = hostOf(file);
  reportHost(host, report, { requests: file.logRequests });
  try {
    const address = { host: values.host ?? file.host, port: values.port ?? file.port };
    const { 'keep-going': isKeptGoing, 'test-scheduled': isTested } = values;
    return await serve(host, file, { report, io, address, isKeptGoing, isTested });
  } finally {
    await host.close({ drainMs: file.drainMs });
  }
});

interface Serving {
  readonly report: Report;
  readonly io: CommandIo;
  readonly address: { readonly host: string; readonly port: number };
  readonly isKeptGoing: boolean;
  readonly isTested: boolean;
}

async function serve(
  host: EdgeHost,
  file: ServerFile,
  { report, io, address, isKeptGoing, isTested }: Serving,
): Promise<ExitCode> {
  const stop = io.stopSignal();
  await openStorage(host, 'name another directory by the key "storage" of the file, or ":memory:" for none');
  const functions: ServedFunction[] = [];
  const failures = await forEachFunction(host, file.accounts, async loaded => {
    const { name, urls } = await load(loaded, report);
    functions.push({ account: loaded.account.id, name, urls });
  });
  for (const { account, function: name, error } of failures) {
    report({
      type: 'error',
      function: name === '' ? account : `${account}/${name}`,
      code: errorCode(error),
      message: messageOf(error),
      location: locationOf(error),
      isServing: false,
    });
  }
  if (failures.length > 0 && !isKeptGoing)
    throw new CommandError(1, `${failures.length} of the functions cannot be loaded; --keep-going serves the others`);
  const { trustProxy } = file;
  const functionsListener = host.listener({ trustProxy });
  const listener = isTested ? withScheduledEndpoint(host, functionsListener) : functionsListener;
  const { upgrade } = functionsListener;
  const closeWebSockets = (): void => host.closeWebSockets();
  const server = await listen({ ...address, report, listener, upgrade, closeWebSockets });
  report({ type: 'listening', url: server.url, functions, sandbox: sandboxOf(host) });
  await untilStopped(stop);
  report({ type: 'stopping' });
  await server.close(file.drainMs);
  await host.close({ drainMs: file.drainMs });
  report({ type: 'stopped' });
  return 0;
}

async function load(
  { account, read: { source, options, isBundled, warnings, migrations } }: AccountFunction,
  report: Report,
): Promise<{ readonly name: string; readonly urls: readonly string[] }> {
  const sinceMs = performance.now();
  for (const message of warnings) report({ type: 'warning', code: undefined, message });
  for (const message of await applyMigrations(name => account.sql(name), migrations))
    report({ type: 'notice', message });
  const loaded = await account.load(source, options);
  const { name, version, startupTimeMs: startupMs } = loaded;
  const tookMs = performance.now() - sinceMs;
  report({
    type: 'loaded',
    account: account.id,
    function: name,
    version,
    isReload: false,
    isBundled,
    tookMs,
    startupMs,
  });
  const { routes = [], crons = [] } = options;
  if (routes.length === 0 && crons.length === 0) {
    const message = `Function "${name}" of account "${account.id}" is never called: it has no routes and no crons`;
    report({ type: 'warning', code: undefined, message });
  }
  return { name, urls: routes.map(route => (typeof route === 'string' ? route : route.pattern)) };
}

/** @throws CommandError for what the file's schema does not know, such as an address of the egress policy */
function hostOf({ hostOptions }: ServerFile): EdgeHost {
  try {
    return new EdgeHost(hostOptions);
  } catch (error) {
    throw new CommandError(2, messageOf(error), { cause: error });
  }
}
