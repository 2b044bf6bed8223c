/** The endpoint of `edgehost dev` and `serve --test-scheduled` that runs scheduled handlers. */
import http from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { withScheduledEndpoint } from '../../src/cli/serving/scheduled-endpoint.js';
import type { EdgeHost } from '../../src/index.js';
import { newHost, nextLog } from '../host/new-host.js';
import { listen } from '../servers.js';

const SOURCE = `export default {
  fetch() { return new Response('fetched'); },
  scheduled(controller) {
    console.log(controller.cron + ' ' + controller.scheduledTime);
    if (controller.cron === 'fail') { controller.noRetry(); throw new Error('on purpose'); }
  },
};`;

function serve(t: ExecutionContext, host: EdgeHost): Promise<string> {
  return listen(
    t,
    withScheduledEndpoint(host, (_request, response) => void response.end('other')),
  );
}

test('a request runs the handler, with the cron and time that it names', async t => {
  const host = newHost(t);
  await host.load(SOURCE, { name: 'hello' });
  const url = await serve(t, host);
  for (const path of [
    '/__edgehost/scheduled',
    '/__scheduled',
    '/cdn-cgi/handler/scheduled',
    '/cdn-cgi/local/scheduled',
  ]) {
    const log = nextLog(host, 'hello');
    const answer = await fetch(`${url}${path}?cron=0+4+*+*+*&time=1800000000000`);
    t.is(answer.status, 200);
    t.is(await answer.text(), 'ok\n');
    t.is(await log, '0 4 * * * 1800000000000');
  }
  const failed = await fetch(`${url}/__edgehost/scheduled?cron=fail&format=json`);
  t.is(failed.status, 500);
  t.like(await failed.json(), { outcome: 'exception', noRetry: true });
  t.is(await (await fetch(`${url}/__edgehost/scheduled/more`)).text(), 'other');
});

test('a request that does not say what to run is refused with the reason', async t => {
  const host = newHost(t);
  const url = await serve(t, host);
  const get = async (path: string, method = 'GET') => {
    const answer = await fetch(`${url}/__edgehost/scheduled${path}`, { method });
    return `${answer.status} ${await answer.text()}`;
  };
  t.regex(await get(''), /^404 .*There is no function with a scheduled handler/);
  await host.load(SOURCE, { name: 'a' });
  await host.account('other').load(SOURCE, { name: 'a' });
  t.regex(await get(''), /^404 .*Several functions are meant: default\/a, other\/a/);
  t.regex(await get('?function=b'), /^404 .*There is no function "b"/);
  t.regex(await get('?account=other&time=never'), /^400 .*time is "never"/);
  t.regex(await get('?account=other&cron=a%0Ab'), /^400 .*expected a text of one line/);
  t.regex(await get('?account=other', 'DELETE'), /^405/);
  t.regex(await get('?account=other'), /^200/);
});

test('a page of another site cannot run scheduled handlers, and a program can', async t => {
  const host = newHost(t);
  await host.load(SOURCE, { name: 'hello' });
  const url = await serve(t, host);
  const statusOf = (headers: http.OutgoingHttpHeaders): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const request = http.get(`${url}/__scheduled`, { headers }, response => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject);
    });
  const own = { origin: url, 'sec-fetch-site': 'same-origin' };
  for (const headers of [{}, own, { 'sec-fetch-site': 'none' }]) t.is(await statusOf(headers), 200);
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ])
    t.is(await statusOf(headers), 403, JSON.stringify(headers));
});
