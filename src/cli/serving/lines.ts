/** Events as text: lines for people, or a line of JSON each for programs. */
import type { InvocationEvent } from '../../host/events.js';
import { hintAboutGlobal } from '../../host/invocation/failures/missing-globals.js';
import { printable } from '../../pool/host/printable.js';
import { EDGE_ERRORS, type EdgeErrorCode } from '../../quotas/errors.js';
import type { Paint } from '../terminal/style.js';
import type { ServerEvent } from './server-event.js';

/** One object a line. Times are milliseconds since the epoch in `time`, and durations in milliseconds in keys that end in `Ms`. */
export function jsonLine(event: ServerEvent, nowMs: number): string {
  return `${JSON.stringify({ time: nowMs, ...event })}\n`;
}

export interface LineOptions {
  readonly paint: Paint;
  readonly now: () => Date;
  /** Whether lines name the account: only where there are several. */
  readonly hasAccounts: boolean;
}

const LEVEL_COLOURS = { debug: 'gray', info: 'blue', log: 'cyan', warn: 'yellow', error: 'red' } as const;

/** Texts of functions and clients are written without the control characters of a terminal. */
export function peopleLines(event: ServerEvent, options: LineOptions): string {
  const { paint } = options;
  const line = (text: string): string => `${paint('gray', clock(options.now()))} ${text}\n`;
  switch (event.type) {
    case 'listening':
      return listening(event, options);
    case 'loaded': {
      const how = event.isReload ? 'reloaded' : 'loaded';
      const bundled = event.isBundled ? ', bundled by esbuild' : '';
      return line(
        `${paint('green', how)} ${nameOf(event, options)} in ${shownMs(event.tookMs)} (global scope ${shownMs(event.startupMs)}${bundled})`,
      );
    }
    case 'unloaded':
      return line(`${paint('yellow', 'unloaded')} ${nameOf(event, options)}`);
    case 'error': {
      const still = event.isServing ? paint('gray', '\n  the version before goes on serving') : '';
      const code = event.code === undefined ? '' : ` ${paint('gray', `(${event.code})`)}`;
      return line(`${paint('red', 'error')} ${event.function}${code}\n${indented(event.message)}${still}`);
    }
    case 'log':
      return line(
        `${paint(LEVEL_COLOURS[event.level], event.level.padEnd(5))} ${nameOf(event, options)} ${indented(event.message).trimStart()}`,
      );
    case 'invocation':
      return line(invocation(event, options));
    case 'refused':
      return line(
        `${request(event.method, event.path, event.status, paint)} ${paint('yellow', printable(event.message))}`,
      );
    case 'warning': {
      const code = event.code === undefined ? '' : ` ${paint('gray', `(${event.code})`)}`;
      return line(`${paint('yellow', 'warning')} ${indented(event.message).trimStart()}${code}`);
    }
    case 'build':
      return `${paint('gray', indented(event.message.trimEnd()))}\n`;
    case 'notice':
      return line(indented(event.message).trimStart());
    case 'stopping':
      return line('stopping: what runs is finished first; a second signal stops at once');
    case 'stopped':
      return line('stopped');
  }
}

function listening(
  { url, functions, sandbox }: Extract<ServerEvent, { type: 'listening' }>,
  options: LineOptions,
): string {
  const { paint } = options;
  const rows = functions.map(
    each => `  ${nameOf({ ...each, function: each.name }, options)}  ${each.urls.join('  ')}\n`,
  );
  const wall = sandbox === undefined ? '' : `${paint('gray', sandbox)}\n`;
  return `${paint('bold', `Listening on ${paint('cyan', url)}`)}\n${rows.join('')}${wall}`;
}

function invocation(event: Extract<ServerEvent, { type: 'invocation' }>, options: LineOptions): string {
  const { paint } = options;
  const what =
    event.method === undefined || event.url === undefined
      ? `${paint('bold', event.rpcMethod === undefined ? event.kind : 'call')}${receiver(event)}`
      : request(event.method, pathOf(event.url), event.status ?? statusOf(event.error?.code), paint);
  const times = paint('gray', `${shownMs(event.wallMs)}, CPU ${shownMs(event.cpuMs)}`);
  const outcome = event.outcome === 'ok' ? '' : ` ${paint('red', event.outcome)}`;
  const error = event.error === undefined ? '' : `\n${failure(event.error, event.hint, paint)}`;
  const warnings = event.warnings.map(({ message }) => `\n  ${paint('yellow', `near a limit: ${printable(message)}`)}`);
  return `${what} ${times} ${nameOf(event, options)}${outcome}${error}${warnings.join('')}`;
}

/** The class of the stateful object, and the method that is called. */
function receiver({ object, rpcMethod }: Extract<ServerEvent, { type: 'invocation' }>): string {
  const names = [object?.className, rpcMethod].filter(name => name !== undefined && name !== '');
  return names.length === 0 ? '' : ` ${printable(names.join('.'))}`;
}

/** An error of the function has its message at the top of its stack; an invocation that the host ended has no stack, but a message of the host. */
function failure(
  { code, message, stack }: NonNullable<InvocationEvent['error']>,
  hint: string | undefined,
  paint: Paint,
): string {
  const lines = stack.split('\n').filter(line => line.trim() !== '');
  const frames = lines.filter(line => /^\s*at /.test(line));
  const own = lines.filter(line => !frames.includes(line)).join('\n');
  const reason = /^(?:ReferenceError|EvalError): (.*)$/m.exec(own)?.[1] ?? '';
  const text = own === '' ? `${message} (${code})` : `${own}${hintAboutGlobal(reason)}`;
  const head = hint === undefined ? text : `${text}\n${hint}`;
  return [paint('red', indented(head)), ...frames.map(frame => `    ${printable(frame)}`)].join('\n');
}

function request(method: string, path: string, status: number | undefined, paint: Paint): string {
  const colour = status === undefined || status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  return `${paint('bold', printable(method))} ${printable(path)} ${paint(colour, status === undefined ? '-' : String(status))}`;
}

/** The status that the client received in place of a response. */
function statusOf(code: EdgeErrorCode | undefined): number | undefined {
  return code === undefined ? undefined : EDGE_ERRORS[code].status;
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname + new URL(url).search : url;
}

function nameOf(
  event: { readonly account: string; readonly function: string },
  { paint, hasAccounts }: LineOptions,
): string {
  return paint('bold', hasAccounts ? `${event.account}/${event.function}` : event.function);
}

/** Line by line, without control characters but for the tabs that begin one. */
export function indented(text: string): string {
  return text
    .split('\n')
    .map(each => `  ${/^[ \t]*/.exec(each)?.[0] ?? ''}${printable(each)}`.trimEnd())
    .join('\n');
}

function clock(now: Date): string {
  return now.toTimeString().slice(0, 8);
}

export function shownMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
