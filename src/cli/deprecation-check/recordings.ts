/** Requests out of recordings: HAR files, and access logs (Common and Combined Log Format, lines of JSON, or `GET /path`). */

import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { isObject } from '../../quotas/schema/describe.js';
import type { AuditedRequest } from './requests.js';

/** V8 has no longer strings, and a HAR is parsed as one. */
const MAX_HAR_BYTES = 500 * 1024 ** 2;
/** The rest of a line is ignored. */
const MAX_LINE_CHARACTERS = 65_536;

/** Every request of a file, in order. @throws Error the file is not a valid HAR */
export async function* readRecording(file: string): AsyncGenerator<AuditedRequest> {
  if (await looksLikeHar(file)) yield* readHar(file);
  else yield* readLog(file);
}

async function looksLikeHar(file: string): Promise<boolean> {
  if (file.toLowerCase().endsWith('.har')) return true;
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0);
    return /^\uFEFF?\s*\{\s*"log"\s*:\s*\{/.test(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await handle.close();
  }
}

async function* readHar(file: string): AsyncGenerator<AuditedRequest> {
  const { size } = await stat(file);
  if (size > MAX_HAR_BYTES)
    throw new Error(`${file}: the HAR is ${size} bytes, at most ${MAX_HAR_BYTES} can be read: split it`);
  const text = (await readFile(file, 'utf8')).replace(/^\uFEFF/, '');
  const har = parseJson(text);
  const entries = member(member(har, 'log'), 'entries');
  if (!Array.isArray(entries)) throw new Error(`${file} is not a HAR file: it has no log.entries`);
  const lines = new LineFinder(text);
  for (const entry of entries) {
    const request = member(entry, 'request');
    const method = member(request, 'method');
    const url = member(request, 'url');
    if (typeof method !== 'string' || typeof url !== 'string') continue;
    const body = parseJson(member(member(request, 'postData'), 'text'));
    const responseBody = parseJson(member(member(member(entry, 'response'), 'content'), 'text'));
    yield {
      method,
      url,
      headers: headersOf(member(request, 'headers')),
      body,
      responseBody,
      file,
      line: lines.next(url),
    };
  }
}

async function* readLog(file: string): AsyncGenerator<AuditedRequest> {
  let line = 0;
  for await (const text of readLines(file)) {
    line += 1;
    const request = parseLogLine(text);
    if (request !== null) yield { ...request, file, line };
  }
}

/** null: the line shows no request. */
export function parseLogLine(text: string): Pick<AuditedRequest, 'method' | 'url'> | null {
  if (text.trimStart().startsWith('{')) {
    const record = parseJson(text);
    const request = member(record, 'request');
    const method = firstText(record, request, ['method', 'request_method', 'httpMethod', 'ClientRequestMethod']);
    const url = firstText(record, request, ['url', 'uri', 'path', 'request_uri', 'ClientRequestURI']);
    if (method !== null && url !== null) return { method, url };
  }
  const match = /(?<![\w/])(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\s+((?:https?:\/\/|\/)[^\s"]*)/.exec(text);
  return match?.[1] === undefined || match[2] === undefined ? null : { method: match[1], url: match[2] };
}

/** The lines of a file of any size. Memory is bounded by the longest line, and lines are cut at a maximum length. */
export async function* readLines(file: string): AsyncGenerator<string> {
  let rest = '';
  const stream = createReadStream(file, { encoding: 'utf8' });
  for await (const chunk of stream) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARACTERS);
    for (const line of lines) yield line.slice(0, MAX_LINE_CHARACTERS);
  }
  if (rest !== '') yield rest;
}

/** Finds where each URL of a HAR stands in its text. Entries are looked for in order, so each search continues from the last. */
class LineFinder {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  next(url: string): number {
    const found = this.#text.indexOf(JSON.stringify(url).slice(1, -1), this.#at);
    if (found === -1) return this.#line;
    for (let at = this.#text.indexOf('\n', this.#at); at !== -1 && at < found; at = this.#text.indexOf('\n', at + 1))
      this.#line += 1;
    this.#at = found;
    return this.#line;
  }
}

function headersOf(headers: unknown): Readonly<Record<string, string>> {
  if (!Array.isArray(headers)) return {};
  return Object.fromEntries(headers.map(header => [String(member(header, 'name')), String(member(header, 'value'))]));
}

function firstText(record: unknown, request: unknown, names: readonly string[]): string | null {
  for (const name of names) {
    for (const value of [member(record, name), member(request, name)]) {
      if (typeof value === 'string' && value !== '') return value;
    }
  }
  return null;
}

function member(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** undefined when it is not JSON. */
function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
