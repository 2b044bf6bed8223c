/** Lines of a stream. A function has no terminal, so keys and the history of a command line are left out. @see https://nodejs.org/api/readline.html#class-interfaceconstructor */
import type { NodeReadable, NodeWritable } from 'readable-stream-4/lib/stream.js';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { abortError, checkObject, codeError, invalidArgType } from '../errors.ts';
import type { Emitter, Listener } from '../events/emitter.ts';
import { EventEmitter } from '../events/events.ts';
import { StringDecoder } from '../stream/string-decoder.ts';
import { notSupported } from '../unsupported.ts';

const LINE_END = /\r\n|\n|\r/g;
/** An iterator with more lines pauses the input. */
const MAX_QUEUED_LINES = 1024;
const MIN_CRLF_DELAY_MS = 100;

export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: string, listener: () => void, options?: object): void;
  removeEventListener(type: string, listener: () => void): void;
}

export type LineAnswer = (line: string) => void;

interface Options {
  readonly input: NodeReadable;
  readonly output?: NodeWritable;
  readonly prompt?: unknown;
  readonly terminal?: unknown;
  readonly crlfDelay?: unknown;
  readonly signal?: Signal;
}

function optionsOf(given: unknown, output: unknown, terminal: unknown): Options {
  const inside: unknown = (given as { input?: unknown } | null | undefined)?.input; // read as unknown
  const options = (inside ? given : { input: given, output, terminal }) as Options; // used as code gave it, as in Node
  if (typeof options.input?.on !== 'function') throw invalidArgType('input', 'stream.Readable', options.input);
  if (options.terminal) throw notSupported('readline', 'createInterface() with a terminal', 'Leave the option out');
  return options;
}

/** The members of instances alone: the static ones are of no use here. */
const Events: new () => Emitter = EventEmitter;

export class Interface extends Events {
  readonly input: NodeReadable;
  readonly output: NodeWritable | undefined;
  readonly crlfDelay: number;
  readonly terminal = false;
  readonly line = '';
  readonly cursor = 0;
  closed = false;
  paused = false;
  readonly #decoder = new StringDecoder('utf8');
  #prompt: string;
  /** The text of a line that has not ended. */
  #rest = '';
  /** When a piece ended with a carriage return, whose line feed may be the first of the next piece. */
  #returnedAtMs = 0;
  #question: { readonly answer: LineAnswer; readonly promptBefore: string } | undefined;
  readonly #ends: (() => void)[] = [];

  constructor(input: unknown, output?: unknown, _completer?: unknown, terminal?: unknown) {
    super();
    const options = optionsOf(input, output, terminal);
    this.input = options.input;
    this.output = options.output;
    this.crlfDelay = Math.max(MIN_CRLF_DELAY_MS, Number(options.crlfDelay) || 0);
    this.#prompt = options.prompt === undefined ? '> ' : String(options.prompt);
    this.#listen('data', (chunk: unknown) => this.#feed(chunk));
    this.#listen('end', () => this.#ended());
    this.#listen('error', (error: unknown) => void this.emit('error', error));
    if (options.signal !== undefined) this.#closeOnAbort(options.signal);
    this.input.resume();
  }

  getPrompt(): string {
    return this.#prompt;
  }

  setPrompt(prompt: unknown): void {
    this.#prompt = String(prompt);
  }

  prompt(): void {
    if (this.paused) this.resume();
    this.output?.write(this.#prompt);
  }

  question(query: unknown, options?: unknown, callback?: unknown): void {
    const answer = typeof options === 'function' ? options : callback;
    const given = typeof options === 'object' && options !== null ? (options as { signal?: Signal }) : {}; // checked where it is used
    if (given.signal?.aborted) return;
    if (typeof answer === 'function') this.ask(query, answer as LineAnswer, given.signal);
  }

  /** Answers what takes the question back. */
  ask(query: unknown, answer: LineAnswer, signal?: Signal): () => void {
    if (this.closed) throw codeError(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');
    const cancel = (): void => {
      if (this.#question?.answer !== answered) return;
      this.setPrompt(this.#question.promptBefore);
      this.#question = undefined;
      this.output?.write('\r\n');
    };
    const answered = (line: string): void => {
      signal?.removeEventListener('abort', cancel);
      answer(line);
    };
    // An open question is repeated, as in Node.
    if (this.#question === undefined) {
      this.#question = { answer: answered, promptBefore: this.#prompt };
      this.#prompt = String(query);
    }
    this.prompt();
    signal?.addEventListener('abort', cancel, { once: true });
    return cancel;
  }

  pause(): this {
    if (this.paused) return this;
    this.input.pause();
    this.paused = true;
    this.emit('pause');
    return this;
  }

  resume(): this {
    if (!this.paused) return this;
    this.input.resume();
    this.paused = false;
    this.emit('resume');
    return this;
  }

  /** Gives text as if it came from the input. */
  write(data: unknown): void {
    if (this.closed) throw codeError(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');
    if (this.paused) this.resume();
    this.#feed(data);
  }

  close(): void {
    if (this.closed) return;
    this.pause();
    for (const end of this.#ends.splice(0)) end();
    this.closed = true;
    this.emit('close');
  }

  getCursorPos(): { readonly rows: number; readonly cols: number } {
    return { rows: 0, cols: this.#prompt.length };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    const lines: string[] = [];
    let failure: { readonly error: unknown } | undefined;
    let wake = (): void => {};
    const listeners: readonly (readonly [type: string, listener: Listener])[] = [
      [
        'line',
        line => {
          lines.push(String(line));
          if (lines.length > MAX_QUEUED_LINES) this.pause();
          wake();
        },
      ],
      ['close', () => wake()],
      [
        'error',
        error => {
          failure = { error };
          wake();
        },
      ],
    ];
    for (const [type, listener] of listeners) this.on(type, listener);
    try {
      while (true) {
        const line = lines.shift();
        if (line !== undefined) yield line;
        else if (failure !== undefined) throw failure.error;
        else if (this.closed) return;
        else {
          const next = new Promise<void>(resolve => {
            wake = resolve;
          });
          this.resume();
          await next;
        }
      }
    } finally {
      for (const [type, listener] of listeners) this.removeListener(type, listener);
      this.close();
    }
  }

  #listen(type: string, listener: (value: unknown) => void): void {
    this.input.on(type, listener);
    this.#ends.push(() => this.input.removeListener(type, listener));
  }

  #closeOnAbort(signal: Signal): void {
    checkObject(signal, 'options.signal');
    const onAbort = (): void => this.close();
    if (signal.aborted) queueMicrotask(onAbort);
    else {
      signal.addEventListener('abort', onAbort, { once: true });
      this.#ends.push(() => signal.removeEventListener('abort', onAbort));
    }
  }

  #feed(chunk: unknown): void {
    let text: string = this.#decoder.write(chunk);
    if (this.#returnedAtMs !== 0 && text !== '') {
      if (text.startsWith('\n') && Date.now() - this.#returnedAtMs <= this.crlfDelay) text = text.slice(1);
      this.#returnedAtMs = 0;
    }
    if (text.endsWith('\r')) this.#returnedAtMs = Date.now();
    // The rest has no end of a line in it, so that long lines are not searched again.
    const lines = text.split(LINE_END);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#emitLine(line);
  }

  #emitLine(line: string): void {
    const question = this.#question;
    if (question === undefined) {
      this.emit('line', line);
      return;
    }
    this.#question = undefined;
    this.setPrompt(question.promptBefore);
    question.answer(line);
  }

  #ended(): void {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = '';
    if (rest !== '') this.#emitLine(rest);
    this.close();
  }
}

/** The AbortError of a question. */
export function questionAborted(signal: Signal): Error {
  return abortError(signal.reason);
}
