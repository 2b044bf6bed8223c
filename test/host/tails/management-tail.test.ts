/** Tails over the management API, and by the command that reads them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { runEdgehost } from '../../../src/cli/edgehost.js';
import { readEvents } from '../../../src/cli/tail/server-sent-events.js';
import { lineOf } from '../../../src/cli/tail/trace-text.js';
import type { CommandIo } from '../../../src/cli/terminal/command.js';
import type { EdgeFunction, HostManagement } from '../../../src/index.js';
import { portOf } from '../../servers.js';
import { newHost, textOf } from '../new-host.js';

const TOKEN = 'a-token-of-acme-that-may-watch-its-functions';
const OTHER = 'a-token-of-other-that-may-watch-its-own-only';
const DEPLOYS = 'a-token-of-acme-that-may-deploy-but-not-watch';

interface Rig {
  readonly management: HostManagement;
  readonly fn: EdgeFunction;
  open(query?: string, token?: string): Promise<Response>;
}

async function rig(t: ExecutionContext): Promise<Rig> {
  const host = newHost(t);
  const fn = await host.account('acme').load(
    `export default { fetch(request) {
       console.log('path ' + new URL(request.url).pathname);
       if (request.method === 'PUT') throw new Error('no PUT');
       return new Response();
     } };`,
    { name: 'one' },
  );
  host.account('other');
  const management = host.management({
    tokens: [
      { name: 'watch', token: TOKEN, account: 'acme', permissions: ['tails:read'] },
      { name: 'other', token: OTHER, account: 'other', permissions: ['tails:read'] },
      { name: 'deploy', token: DEPLOYS, account: 'acme', permissions: ['functions:edit'] },
    ],
  });
  return {
    management,
    fn,
    open: (query = '', token = TOKEN) =>
      management(
        new Request(`http://localhost/accounts/acme/tail${query}`, { headers: { authorization: `Bearer ${token}` } }),
      ),
  };
}

function eventsOf(response: Response): AsyncGenerator<{ type: string; data: string }> {
  if (response.body === null) throw new Error('The response has no body');
  return readEvents(response.body);
}

test('GET /accounts/{account_id}/tail is a stream of what ends', async t => {
  const { open, fn } = await rig(t);
  const response = await open();
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const events = eventsOf(response);
  await textOf(fn.fetch('http://x/a', { headers: { authorization: 'Bearer hunter2' } }));
  const { value } = await events.next();
  t.is(value?.type, 'trace');
  t.false(value?.data.includes('hunter2'));
  t.like(JSON.parse(value?.data ?? ''), {
    scriptName: 'one',
    logs: [{ message: ['path /a'] }],
    event: { request: { headers: { authorization: 'REDACTED' } } },
  });
  await events.return(undefined);
});

test('the query of a tail is its filter', async t => {
  const { open, fn } = await rig(t);
  const events = eventsOf(await open('?function=one,two&outcome=exception&method=PUT,POST&search=no%20PUT&sample=1'));
  await textOf(fn.fetch('http://x/a'));
  await t.throwsAsync(fn.fetch('http://x/b', { method: 'PUT' }));
  const { value } = await events.next();
  t.like(JSON.parse(value?.data ?? ''), { outcome: 'exception', logs: [{ message: ['path /b'] }] });
  await events.return(undefined);
  for (const query of ['?functions=one', '?sample=0', '?sample=2', '?kind=nothing', '?outcome=fine', '?status=9']) {
    t.is((await open(query)).status, 400, query);
  }
});

test('a tail needs the permission tails:read, for the account', async t => {
  const { open } = await rig(t);
  t.is((await open('', DEPLOYS)).status, 403);
  t.is((await open('', OTHER)).status, 403);
  t.is((await open('', 'no-token-at-all-but-long-enough-to-be-one')).status, 401);
});

test('a tail that is canceled makes room for another, and HEAD opens none', async t => {
  const { open, management } = await rig(t);
  for (let i = 0; i < 12; i++) {
    const head = new Request('http://localhost/accounts/acme/tail', {
      method: 'HEAD',
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    t.is((await management(head)).status, 200);
  }
  const streams = await Promise.all(Array.from({ length: 10 }, () => open()));
  t.true(streams.every(({ status }) => status === 200));
  t.is((await open()).status, 503);
  await streams[0]?.body?.cancel();
  const last = await open();
  t.is(last.status, 200);
  for (const { body } of [...streams.slice(1), last]) await body?.cancel();
});

test('edgehost tail prints what happens', async t => {
  const { management, fn } = await rig(t);
  const server = createServer(management.listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const stop = new AbortController();
  const run = (args: readonly string[], onText: (text: string) => void, env = { EDGEHOST_TOKEN: TOKEN }) => {
    const io: CommandIo = {
      out: onText,
      err: onText,
      isTerminal: false,
      now: () => new Date(),
      env,
      stopSignal: () => stop.signal,
    };
    return runEdgehost(['tail', ...args], io);
  };
  const url = `http://127.0.0.1:${portOf(server)}/accounts/acme`;
  const printed = new Promise<string>(resolve => {
    void run([url, '--method', 'PUT'], resolve);
  });
  // The command has no way to say that it has begun to listen, and what ends before is missed.
  let isPrinted = false;
  void printed.then(() => {
    isPrinted = true;
  });
  while (!isPrinted) await fn.fetch('http://x/b', { method: 'PUT' }).catch(() => {});
  t.regex(
    await printed,
    /^\d{4}-[^ ]+Z {2}one {2}PUT http:\/\/x\/b {2}exception {2}\d+ ms\n {2}log: path \/b\n {2}Error: no PUT\n {4}at /,
  );
  stop.abort();
  const failing: string[] = [];
  const keep = (text: string): void => void failing.push(text);
  t.is(await run(['nowhere'], keep), 2);
  t.is(await run([url], keep, { EDGEHOST_TOKEN: '' }), 2);
  t.regex(failing.join(''), /"nowhere" is not the URL[\s\S]*set the environment variable EDGEHOST_TOKEN/);
});

test('lineOf() leaves no escape sequences of terminals, and takes what is not an invocation', t => {
  const item = { scriptName: 'a', logs: [{ level: 'log', message: ['\u001b[2Jboo\nfake line'] }], exceptions: 7 };
  t.is(lineOf(item), 'a\n  log:  [2Jboo fake line\n');
  for (const value of [null, 1, 'x']) t.is(lineOf(value), '');
});
