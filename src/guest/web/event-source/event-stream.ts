/** The parser of an event stream. @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
import { stringCharCodeAt, stringIndexOf, stringSlice } from '../../primordials.ts';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const DIGIT_0 = 48;
const DIGIT_9 = 57;
/** A delay of more digits is longer than any timer. */
const MAX_RETRY_DIGITS = 9;

export interface StreamedEvent {
  /** '' for an event that names none. */
  readonly type: string;
  readonly data: string;
  readonly lastEventId: string;
}

export class EventStreamParser {
  readonly #onEvent: (event: StreamedEvent) => void;
  readonly #onRetry: (delayMs: number) => void;
  /** The start of a line whose end has not come. */
  #rest = '';
  #endsWithReturn = false;
  #type = '';
  #data = '';
  #hasData = false;
  #idField = '';
  #id = '';

  constructor(onEvent: (event: StreamedEvent) => void, onRetry: (delayMs: number) => void) {
    this.#onEvent = onEvent;
    this.#onRetry = onRetry;
  }

  /** The id that the next request names: the last event has it, also when the event had no data. */
  get lastEventId(): string {
    return this.#id;
  }

  /** The stream of a new connection begins. */
  restart(): void {
    this.#rest = '';
    this.#endsWithReturn = false;
    this.#type = '';
    this.#data = '';
    this.#hasData = false;
    this.#idField = this.#id;
  }

  /** The next characters of the stream. An event without the empty line behind it is dropped at the end. */
  push(text: string): void {
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      const code = stringCharCodeAt(text, at);
      const isAfterReturn = this.#endsWithReturn;
      this.#endsWithReturn = code === CARRIAGE_RETURN;
      if (code !== LINE_FEED && code !== CARRIAGE_RETURN) continue;
      if (code === LINE_FEED && isAfterReturn) {
        start = at + 1;
        continue;
      }
      const line = this.#rest + stringSlice(text, start, at);
      this.#rest = '';
      start = at + 1;
      this.#line(line);
    }
    this.#rest += stringSlice(text, start);
  }

  #line(line: string): void {
    if (line === '') {
      this.#dispatch();
      return;
    }
    const colon = stringIndexOf(line, ':');
    if (colon === 0) return;
    if (colon < 0) {
      this.#field(line, '');
      return;
    }
    const valueStart = stringCharCodeAt(line, colon + 1) === SPACE ? colon + 2 : colon + 1;
    this.#field(stringSlice(line, 0, colon), stringSlice(line, valueStart));
  }

  #field(name: string, value: string): void {
    if (name === 'event') this.#type = value;
    else if (name === 'data') {
      this.#data += this.#hasData ? `\n${value}` : value;
      this.#hasData = true;
    } else if (name === 'id') {
      if (stringIndexOf(value, '\0') < 0) this.#idField = value;
    } else if (name === 'retry' && isDigits(value)) this.#onRetry(+value);
  }

  #dispatch(): void {
    const type = this.#type;
    const data = this.#data;
    const hasData = this.#hasData;
    this.#type = '';
    this.#data = '';
    this.#hasData = false;
    this.#id = this.#idField;
    if (hasData) this.#onEvent({ type, data, lastEventId: this.#id });
  }
}

function isDigits(text: string): boolean {
  if (text === '' || text.length > MAX_RETRY_DIGITS) return false;
  for (let at = 0; at < text.length; at++) {
    const code = stringCharCodeAt(text, at);
    if (code < DIGIT_0 || code > DIGIT_9) return false;
  }
  return true;
}
