/** Runs scheduled handlers by a request, to try them out: `GET /__edgehost/scheduled?function=NAME&cron=EXPRESSION&time=MS&format=json`. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EdgeFunction } from '../../host/edge-function.js';
import type { EdgeHost } from '../../host/edge-host.js';
import { messageOf } from '../../quotas/errors.js';

/** Beside the path of this project those that tools of the hosted platform ask for. */
const PATHS: ReadonlySet<string> = new Set([
  '/__edgehost/scheduled',
  '/__scheduled',
  '/cdn-cgi/handler/scheduled',
  '/cdn-cgi/local/scheduled',
]);

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers the paths above, and hands every other request to `listener`. Answers 200 when the handler has succeeded and 500 when it has failed. */
export function withScheduledEndpoint(host: EdgeHost, listener: Listener): Listener {
  return (request, response) => {
    const url = request.url ?? '/';
    const end = url.indexOf('?');
    if (!PATHS.has(end < 0 ? url : url.slice(0, end))) {
      listener(request, response);
      return;
    }
    void answer(host, request, new URLSearchParams(end < 0 ? '' : url.slice(end))).then(({ status, body, isJson }) => {
      response.writeHead(status, {
        'content-type': isJson ? 'application/json' : 'text/plain; charset=utf-8',
        'cache-control': 'no-store',
      });
      response.end(isJson ? `${JSON.stringify(body)}\n` : `${textOfBody(body)}\n`);
    });
  };
}

interface Body {
  readonly outcome: 'ok' | 'exception' | 'refused';
  readonly noRetry?: boolean;
  readonly error?: string;
}

async function answer(
  host: EdgeHost,
  request: IncomingMessage,
  query: URLSearchParams,
): Promise<{ status: number; body: Body; isJson: boolean }> {
  const isJson = query.get('format') === 'json';
  const refuse = (status: number, error: string) => ({ status, body: { outcome: 'refused', error } as const, isJson });
  if (request.method !== 'GET' && request.method !== 'POST') return refuse(405, 'The methods are GET and POST');
  if (isCrossSite(request)) return refuse(403, 'Pages of other sites may not run scheduled handlers');
  const found = functionOf(host, query);
  if (typeof found === 'string') return refuse(404, found);
  const time = query.get('time');
  const scheduledTime = time === null ? new Date() : new Date(/^\d+$/.test(time) ? Number(time) : time);
  if (Number.isNaN(scheduledTime.getTime()))
    return refuse(400, `time is ${JSON.stringify(time)}, expected milliseconds since 1970 or a date`);
  try {
    const { error, noRetry } = await found.tryScheduled({ cron: query.get('cron') ?? '', scheduledTime });
    if (error === undefined) return { status: 200, body: { outcome: 'ok', noRetry }, isJson };
    return { status: 500, body: { outcome: 'exception', noRetry, error: messageOf(error) }, isJson };
  } catch (error) {
    return refuse(400, messageOf(error));
  }
}

/** A browser says which page a request comes from; curl and other programs do not. */
function isCrossSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin, host = '' } = headers;
  return origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
}

/** The one that is named, or else the only one that has a scheduled handler; or the reason why no function fits. */
function functionOf(host: EdgeHost, query: URLSearchParams): EdgeFunction | string {
  const account = query.get('account');
  const name = query.get('function');
  const functions = host
    .accounts()
    .filter(({ id }) => account === null || id === account)
    .flatMap(({ id }) => host.account(id).functions())
    .filter(fn => (name === null ? fn.handlers.includes('scheduled') : fn.name === name));
  const [first, second] = functions;
  if (first !== undefined && second === undefined) return first;
  const names = functions.map(fn => `${fn.account}/${fn.name}`).join(', ');
  return first === undefined
    ? `There is no function ${name === null ? 'with a scheduled handler' : JSON.stringify(name)}`
    : `Several functions are meant: ${names}; say which by function=NAME, and account=ID where the name is used twice`;
}

function textOfBody({ outcome, error }: Body): string {
  return error === undefined ? outcome : `${outcome}: ${error}`;
}
