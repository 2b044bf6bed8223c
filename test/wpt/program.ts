/**
 * One function out of a test and what it needs: a classic script whose fetch handler runs the test harness and answers with the
 * results. Nothing can be done outside of a handler, so that is where the tests run.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestFile } from './meta.js';

/** The origin under which tests find the files of the checkout. */
export const ORIGIN = 'http://web-platform.test:8000';

export interface SubtestResult {
  readonly name: string;
  /** 0 pass, 1 fail, 2 timeout, 3 not run, 4 precondition failed. */
  readonly status: number;
  readonly message: string | null;
}

export interface RunResult {
  readonly subtests: readonly SubtestResult[];
  /** 0 when the harness is satisfied. */
  readonly status: number;
  readonly message: string | null;
}

export function buildProgram(checkout: string, test: TestFile, variant: string): string {
  const url = new URL(`/${test.path}${variant}`, ORIGIN);
  const location = {
    href: url.href,
    origin: url.origin,
    pathname: url.pathname,
    search: url.search,
    host: url.host,
    hostname: url.hostname,
    port: url.port,
    protocol: url.protocol,
    hash: '',
  };
  const scripts = ['resources/testharness.js', ...test.scripts].map(path => readScript(checkout, path));
  return `addEventListener('fetch', event => event.respondWith(new Promise($answer => $run($answer))));
function $prelude() {
  globalThis.self ??= globalThis;
  const location = ${JSON.stringify(location)};
  location.toString = () => location.href;
  Object.defineProperty(globalThis, 'location', { value: location, writable: true, configurable: true });
  globalThis.GLOBAL = { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false };
  // Functions have no base URL; the tests' own resources are named relative to the document that they are meant for.
  const { fetch } = globalThis;
  globalThis.fetch = function (input, init) {
    const isRelative = typeof input === 'string' && !/^[a-z][a-z0-9+.-]*:/i.test(input);
    return fetch(isRelative ? new URL(input, location.href).href : input, init);
  };
}
function $run($answer) {
$prelude();
${scripts[0]}
add_completion_callback((tests, status) => {
  const subtests = tests.map(({ name, status, message }) => ({ name, status, message }));
  $answer(Response.json({ subtests, status: status.status, message: status.message }));
});
${scripts.slice(1).join('\n;\n')}
;
${test.source}
;
}`;
}

function readScript(checkout: string, path: string): string {
  const file = join(checkout, path);
  return existsSync(file)
    ? readFileSync(file, 'utf8')
    : `throw new Error(${JSON.stringify(`no such script: ${path}`)});`;
}
