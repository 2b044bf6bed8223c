/** `edgehost tail`: what happens in an account, from the management API of a host. */

import { accountUrl, ask, TOKEN, tokenOf, urlBelow } from './account-api.js';
import { readEvents, type ServerSentEvent } from './tail/server-sent-events.js';
import { lineOf } from './tail/trace-text.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, type CommandIo, command } from './terminal/command.js';

const SYNTAX = {
  name: 'tail',
  paths: 'URL',
  count: { min: 1, max: 1 },
  about: `Prints the invocations of an account as they end, with what they have logged and thrown. URL is that of the account in
the management API, such as https://admin.example.com/accounts/acme. The API token, with the permission tails:read, is
taken from the environment variable ${TOKEN}.`,
  options: {
    function: { kind: 'list', value: 'NAME', text: 'of this function alone; may be given several times' },
    outcome: { kind: 'list', value: 'OUTCOME', text: 'with this outcome alone: ok, exception, exceededCpu, ...' },
    method: { kind: 'list', value: 'METHOD', text: 'requests with this method alone' },
    status: { kind: 'list', value: 'STATUS', text: 'requests that were answered with this status alone' },
    search: { kind: 'text', value: 'TEXT', text: 'with this text in a log line or an exception' },
    sample: { kind: 'text', value: 'PART', text: 'a part of them, picked at random: 0.1 is one in ten' },
    json: { kind: 'flag', text: 'each invocation as a line of JSON' },
  },
  examples: ['edgehost tail https://admin.example.com/accounts/acme --function hello --outcome exception'],
} as const satisfies Syntax;

export const TAIL = command(SYNTAX, async ({ values, paths }, io) => {
  const url = urlBelow(accountUrl(paths[0] ?? ''), '/tail', {
    function: values.function.join(','),
    outcome: values.outcome.join(','),
    method: values.method.join(','),
    status: values.status.join(','),
    search: values.search ?? '',
    sample: values.sample ?? '',
  });
  const token = tokenOf(io);
  const signal = io.stopSignal({ isForeground: true });
  try {
    // The API ends a stream after a while: what happens until the next one begins is missed.
    while (!signal.aborted) {
      for await (const event of readEvents(await open(url, token, signal))) print(event, values.json, io);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return 0;
});

async function open(url: URL, token: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const { body } = await ask(url, token, signal);
  if (body !== null) return body;
  throw new CommandError(1, `${url.origin} answered with nothing`);
}

function print({ type, data }: ServerSentEvent, isJson: boolean, io: CommandIo): void {
  if (type === 'dropped') io.err(`edgehost tail: ${data} were not read in time\n`);
  else if (type === 'trace') io.out(isJson ? `${data}\n` : lineOf(JSON.parse(data)));
}
