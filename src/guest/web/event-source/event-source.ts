/** EventSource, over fetch. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
import {
  objectCreate,
  promiseThen,
  reflectApply,
  stringIndexOf,
  stringSlice,
  TypeErrorCtor,
} from '../../primordials.ts';
import { requireHandler } from '../../scope.ts';
import { DOMException } from '../base/dom-exception.ts';
import {
  defineConstants,
  defineInterface,
  invoke,
  isCallable,
  isObject,
  quoted,
  requireArguments,
  toDictionary,
  toUSVString,
} from '../base/idl.ts';
import { TextDecoder } from '../encoding/encoding.ts';
import { ErrorEvent, markTrusted } from '../events/event.ts';
import { defineHandler, dispatch, EventTarget, type TargetState, targetState } from '../events/event-target.ts';
import { streamOf } from '../fetch/body.ts';
import { fetch } from '../fetch/fetch.ts';
import { extractMimeType } from '../fetch/mime.ts';
import { isResponse, type Response, responseState } from '../fetch/response.ts';
import { MessageEvent } from '../messaging/messaging.ts';
import { abortSignal, createAbortSignal } from '../scheduling/abort.ts';
import { startTimer, stopTimer } from '../scheduling/timers.ts';
import { ByteReader } from '../streams/byte-streams.ts';
import { isReadableStream, type ReadableStream } from '../streams/streams.ts';
import { parseUrl } from '../url/url-parse.ts';
import { EventStreamParser } from './event-stream.ts';

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 2;

/** Until the server says otherwise. */
const RETRY_MS = 2000;

const { decode } = TextDecoder.prototype;
const NO_MEMBERS: { readonly [member: string]: unknown } = objectCreate(null);

/** The origin of the events: a URL, which is asked again and again, or a stream, which is read once. */
type Place = { readonly url: string; readonly fetcher: object | undefined } | ReadableStream;

let givenStream: ReadableStream | undefined;

class SourceState {
  readyState = CONNECTING;
  readonly url: string;
  readonly #origin: string;
  readonly #fetcher: object | undefined;
  readonly #target: TargetState;
  readonly #parser: EventStreamParser;
  #retryMs = RETRY_MS;
  #timer = 0;
  #signal = createAbortSignal();
  #reader: ByteReader | undefined;

  constructor(target: TargetState, from: Place) {
    this.#target = target;
    const isStream = isReadableStream(from);
    this.url = isStream ? '' : from.url;
    this.#fetcher = isStream ? undefined : from.fetcher;
    this.#origin = originOf(this.url);
    this.#parser = new EventStreamParser(
      ({ type, data, lastEventId }) => {
        if (this.readyState === CLOSED) return;
        const init = { __proto__: null, data, lastEventId, origin: this.#origin };
        this.#fire(new MessageEvent(type === '' ? 'message' : type, init));
      },
      delayMs => {
        this.#retryMs = delayMs;
      },
    );
    if (isStream) {
      this.readyState = OPEN;
      this.#read(from);
    } else this.#connect();
  }

  close(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    stopTimer(this.#timer);
    const reason = new DOMException('The EventSource was closed', 'AbortError');
    abortSignal(this.#signal, reason);
    this.#reader?.cancel(reason);
  }

  #connect(): void {
    this.#timer = 0;
    const headers: [string, string][] = [
      ['accept', 'text/event-stream'],
      ['cache-control', 'no-cache'],
    ];
    if (this.#parser.lastEventId !== '') headers[2] = ['last-event-id', this.#parser.lastEventId];
    const init = { __proto__: null, headers, signal: this.#signal };
    promiseThen(
      this.#request(init),
      response => this.#answered(response),
      error => this.#lost(error),
    );
  }

  async #request(init: object): Promise<unknown> {
    const fetcher = this.#fetcher;
    if (fetcher === undefined) return await fetch(this.url, init);
    const method: unknown = (fetcher as { fetch?: unknown }).fetch; // read as unknown and checked
    if (!isCallable(method)) throw new TypeErrorCtor('The fetcher of the EventSource has no method fetch');
    return await invoke(method, fetcher, [this.url, init]);
  }

  #answered(response: unknown): void {
    if (!isResponse(response)) {
      this.#fail(new TypeErrorCtor('The fetcher of the EventSource answered with no Response'));
      return;
    }
    const complaint = complaintAbout(response);
    const { body } = responseState(response);
    const stream = body === null ? undefined : streamOf(body);
    if (complaint !== undefined || stream === undefined) {
      if (stream !== undefined) new ByteReader(stream).cancel(undefined);
      this.#fail(new TypeErrorCtor(`EventSource: ${complaint ?? 'the answer has no body'}`));
      return;
    }
    if (this.readyState === CLOSED) return;
    this.readyState = OPEN;
    this.#fire(new MessageEvent('open'));
    this.#read(stream);
  }

  async #read(stream: ReadableStream): Promise<void> {
    try {
      const reader = new ByteReader(stream);
      this.#reader = reader;
      const decoder = new TextDecoder();
      this.#parser.restart();
      // The listeners of `open` may have closed the source.
      if (this.readyState === CLOSED) reader.cancel(undefined);
      for (;;) {
        const bytes = await reader.next();
        if (bytes === undefined || this.readyState === CLOSED) break;
        this.#parser.push(reflectApply(decode, decoder, [bytes, { __proto__: null, stream: true }]));
      }
      this.#lost(new TypeErrorCtor('The stream of the EventSource has ended'));
    } catch (error) {
      this.#lost(error);
    }
  }

  /** The connection could not be made, or has ended: there is another one after a while. A stream comes only once. */
  #lost(error: unknown): void {
    this.#reader = undefined;
    if (this.readyState === CLOSED) return;
    if (this.url === '') {
      this.#fail(error);
      return;
    }
    this.readyState = CONNECTING;
    this.#fireError(error);
    // A listener may have closed the source.
    if ((this.readyState as number) === CLOSED) return;
    try {
      this.#timer = startTimer(this.#retryMs, () => this.#connect());
    } catch {
      // The event is over, and the source with it.
      this.readyState = CLOSED;
    }
  }

  #fail(error: unknown): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.#fireError(error);
  }

  #fireError(error: unknown): void {
    const message = isObject(error) ? `${(error as { message?: unknown }).message}` : `${error}`; // any text will do
    this.#fire(new ErrorEvent('error', { __proto__: null, message, error }));
  }

  #fire(event: MessageEvent | ErrorEvent): void {
    dispatch(this.#target, markTrusted(event));
  }
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html#sse-processing-model */
function complaintAbout(response: Response): string | undefined {
  const state = responseState(response);
  if (state.status !== 200) return `the answer has the status ${state.status}, expected 200`;
  const essence = extractMimeType(state.contentType())?.essence ?? '';
  if (essence === 'text/event-stream') return undefined;
  return `the answer has the content type ${quoted(essence)}, expected "text/event-stream"`;
}

export class EventSource extends EventTarget {
  readonly #state: SourceState;

  /** Not of the standard: `fetcher`, whose method fetch is called in place of fetch(). */
  constructor(url: unknown, init: unknown = undefined) {
    const stream = givenStream;
    givenStream = undefined;
    if (stream === undefined) requireArguments(arguments.length, 1, 'EventSource constructor');
    requireHandler('new EventSource()');
    super();
    this.#state = new SourceState(targetState(this), stream ?? placeOf(url, init));
  }

  /** Not of the standard: the events of a stream, which is not opened again. */
  static from(stream: unknown): EventSource {
    if (!isReadableStream(stream)) throw new TypeErrorCtor('EventSource.from: the argument is not a ReadableStream');
    givenStream = stream;
    try {
      return new EventSource('');
    } finally {
      givenStream = undefined;
    }
  }

  get url(): string {
    return this.#state.url;
  }

  get withCredentials(): boolean {
    this.#state; // a receiver that is no EventSource throws
    return false;
  }

  get readyState(): number {
    return this.#state.readyState;
  }

  close(): void {
    this.#state.close();
  }
}

/** The part of a URL before its path. */
function originOf(href: string): string {
  return href === '' ? '' : stringSlice(href, 0, stringIndexOf(href, '/', stringIndexOf(href, '//') + 2));
}

function placeOf(url: unknown, init: unknown): Place {
  const text = toUSVString(url);
  const parsed = parseUrl(text);
  if (parsed === undefined)
    throw new DOMException(`EventSource constructor: ${quoted(text)} is not an absolute URL`, 'SyntaxError');
  const { fetcher, withCredentials } = toDictionary(init, 'The init of the EventSource') ?? NO_MEMBERS;
  if (withCredentials) {
    throw new DOMException(
      'EventSource constructor: there are no credentials for withCredentials',
      'NotSupportedError',
    );
  }
  if (fetcher !== undefined && !isObject(fetcher)) {
    throw new TypeErrorCtor('EventSource constructor: the fetcher is not an object with a method fetch');
  }
  return { url: parsed.href, fetcher };
}

defineConstants(EventSource, { CONNECTING, OPEN, CLOSED });
for (const type of ['open', 'message', 'error']) defineHandler(EventSource.prototype, type);
defineInterface(EventSource);
