/** `edgehost dev`: serves functions while they are written. */
import { messageOf } from '../quotas/errors.js';
import { PLANS } from '../quotas/limits.js';
import { DevServer } from './dev/dev-server.js';
import { reporterFor } from './serving/reporter.js';
import { untilStopped } from './serving/until-stopped.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, command } from './terminal/command.js';

/** A person waits for it. */
const DRAIN_MS = 2000;

const SYNTAX = {
  name: 'dev',
  paths: '[DIR|FILE]',
  count: { min: 0, max: 1 },
  about: `Serves a function, or a folder of them, under the limits of a plan, and reloads what changes: the version that runs
answers until the new one is loaded, and goes on when that does not load. Prints requests, what functions log,
errors with their place in the source, and limits that are near or passed.`,
  sections: [
    [
      'What is served (default: the folder that it is started in)',
      `a script         index.ts, hello.js: TypeScript and imports of packages are bundled by esbuild, if it is installed
a folder         with edgehost.toml or wrangler.toml, .json, .jsonc; or with index.ts or index.js
a folder of      such folders and scripts: each answers /NAME and below, and the routes of its edgehost.toml`,
    ],
  ],
  options: {
    port: {
      kind: 'number',
      short: 'p',
      value: 'N',
      min: 0,
      max: 65_535,
      text: 'port, 0 for any that is free; default 8787',
    },
    host: { kind: 'text', value: 'ADDRESS', text: 'address to listen on, default 127.0.0.1: this machine alone' },
    plan: {
      kind: 'choice',
      value: 'PLAN',
      choices: PLANS,
      text: `limits that apply: ${PLANS.join(', ')}; default standard`,
    },
    persist: {
      kind: 'text',
      value: 'DIR',
      text: 'directory of the buckets, default .edgehost beside the functions;\n:memory: for buckets that end with the command',
    },
    'env-file': {
      kind: 'text',
      value: 'FILE',
      text: 'lines of NAME=value, for every function: they replace its vars of the same name,\nand are secrets otherwise',
    },
    env: {
      kind: 'text',
      short: 'e',
      value: 'NAME',
      text: 'environment of wrangler.toml, .json or .jsonc; default that of CLOUDFLARE_ENV, or its top level',
    },
    allow: {
      kind: 'list',
      value: 'CIDR',
      text: 'addresses that functions may fetch besides the public internet, such as 127.0.0.0/8;\nmay be repeated',
    },
    json: { kind: 'flag', text: 'one JSON object a line, in place of text for people' },
  },
  examples: ['edgehost dev', 'edgehost dev functions --port 3000', 'edgehost dev hello.ts --env-file .env --plan free'],
} as const satisfies Syntax;

export const DEV = command(SYNTAX, async ({ values, paths }, io) => {
  const report = reporterFor(io, { isJson: values.json, hasAccounts: false });
  const stop = io.stopSignal({ isForeground: true });
  const server = await DevServer.start({
    path: paths[0] ?? '.',
    host: values.host ?? '127.0.0.1',
    port: values.port ?? 8787,
    plan: values.plan,
    persist: values.persist,
    envFile: values['env-file'],
    environment: values.env,
    usualEnvironment: io.env.CLOUDFLARE_ENV,
    allow: values.allow,
    report,
  }).catch((error: unknown) => {
    throw error instanceof CommandError ? error : new CommandError(2, messageOf(error), { cause: error });
  });
  await untilStopped(stop);
  report({ type: 'stopping' });
  await server.close(DRAIN_MS);
  report({ type: 'stopped' });
  return 0;
});
