/** Answers the fetches of tests with the files of the checkout. Nothing of it touches the network. */
import { readFileSync, statSync } from 'node:fs';
import { extname, resolve, sep } from 'node:path';
import type { Exchange } from '../../src/isolate/protocol/exchange.js';
import { ORIGIN } from './program.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.txt': 'text/plain',
  '.css': 'text/css',
  '.png': 'image/png',
};

export function answerCall(checkout: string, call: Exchange, head: string, _body: Buffer, _isComplete: boolean): void {
  const { args }: { args: { url: string; method: string } } = JSON.parse(head);
  const url = new URL(args.url);
  const file = resolve(checkout, `.${decodePath(url.pathname)}`);
  const isInside = url.origin === ORIGIN && file.startsWith(checkout + sep);
  if (!isInside) {
    call.fail(`TypeError\nfetch failed: ${args.url} is not a file of the tests\n`);
    return;
  }
  const isFile = !file.includes('\0') && statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  const bytes = isFile && args.method !== 'HEAD' ? readFileSync(file) : Buffer.alloc(0);
  const answer = {
    status: isFile ? 200 : 404,
    statusText: isFile ? 'OK' : 'Not Found',
    headers: ['content-type', TYPES[extname(file)] ?? 'application/octet-stream'],
    url: args.url,
    redirected: false,
    decoded: false,
  };
  call.reply(200, JSON.stringify(answer), true, bytes, true);
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
