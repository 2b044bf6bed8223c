/** FileReader: the bytes of a Blob are there already, so a read is one task for its start and one for all the rest. */
import { MapCtor, mapGet, TypeErrorCtor } from '../primordials.ts';
import { btoa } from './base64.ts';
import { type Blob, blobBytes, blobSize, blobType, isBlob } from './blob.ts';
import { bufferOf, copyOf } from './buffers.ts';
import { latin1 } from './data-url.ts';
import { DOMException } from './dom-exception.ts';
import { TextDecoder } from './encoding.ts';
import { markTrusted } from './event.ts';
import { defineHandler, dispatch, EventTarget, targetState } from './event-target.ts';
import { defineConstants, defineInterface, requireArguments, toDOMString } from './idl.ts';
import { parseMimeType } from './mime.ts';
import { ProgressEvent } from './progress-event.ts';
import { startTimer, stopTimer } from './timers.ts';

const EMPTY = 0;
const LOADING = 1;
const DONE = 2;

/** @see https://w3c.github.io/FileAPI/#APIASynch */
export class FileReader extends EventTarget {
  #state = EMPTY;
  #result: string | ArrayBuffer | null = null;
  #error: unknown = null;
  /** The task that comes next. */
  #timer = 0;

  readAsArrayBuffer(blob: unknown): void {
    requireArguments(arguments.length, 1, 'FileReader.readAsArrayBuffer');
    this.#read(blob, bytes => bufferOf(copyOf(bytes)));
  }

  readAsBinaryString(blob: unknown): void {
    requireArguments(arguments.length, 1, 'FileReader.readAsBinaryString');
    this.#read(blob, latin1);
  }

  readAsText(blob: unknown, encoding: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'FileReader.readAsText');
    const label = encoding === undefined ? undefined : toDOMString(encoding);
    this.#read(blob, (bytes, type) => decoderOf(bytes, label, type).decode(bytes));
  }

  readAsDataURL(blob: unknown): void {
    requireArguments(arguments.length, 1, 'FileReader.readAsDataURL');
    this.#read(
      blob,
      (bytes, type) => `data:${type === '' ? 'application/octet-stream' : type};base64,${btoa(latin1(bytes))}`,
    );
  }

  abort(): void {
    if (this.#state !== LOADING) {
      this.#result = null;
      return;
    }
    stopTimer(this.#timer);
    this.#state = DONE;
    this.#result = null;
    this.#error = new DOMException('The read was aborted', 'AbortError');
    this.#fire('abort', 0, 0);
    if (!this.#isLoading()) this.#fire('loadend', 0, 0);
  }

  get readyState(): number {
    return this.#state;
  }

  get result(): string | ArrayBuffer | null {
    return this.#result;
  }

  get error(): unknown {
    return this.#error;
  }

  /** Listeners may have begun another read. */
  #isLoading(): boolean {
    return this.#state === LOADING;
  }

  /** @see https://w3c.github.io/FileAPI/#readOperation */
  #read(blob: unknown, convert: (bytes: Uint8Array, type: string) => string | ArrayBuffer): void {
    if (!isBlob(blob)) throw new TypeErrorCtor('The parameter is not a Blob');
    if (this.#isLoading()) throw new DOMException('The reader is reading another Blob', 'InvalidStateError');
    const size = blobSize(blob);
    const finish = (): void => this.#finish(blob, convert);
    this.#next(() => {
      if (size === 0) this.#next(finish);
      else {
        this.#next(() => {
          this.#next(finish);
          this.#fire('progress', size, size);
        });
      }
      this.#fire('loadstart', 0, size);
    });
    this.#state = LOADING;
    this.#result = null;
    this.#error = null;
  }

  #finish(blob: Blob, convert: (bytes: Uint8Array, type: string) => string | ArrayBuffer): void {
    const size = blobSize(blob);
    this.#state = DONE;
    // Not when a listener of the event before begins anew: then its read is what comes next.
    this.#next(() => this.#fire('loadend', size, size));
    try {
      this.#result = convert(blobBytes(blob), blobType(blob));
    } catch (error) {
      this.#error = new DOMException(`${error}`, 'NotReadableError');
      this.#fire('error', 0, 0);
      return;
    }
    this.#fire('load', size, size);
  }

  /** Each event is a task of its own, so that what waits for one of them runs before the next. */
  #next(step: () => void): void {
    stopTimer(this.#timer);
    this.#timer = startTimer(0, step);
  }

  #fire(type: string, loaded: number, total: number): void {
    const init = { __proto__: null, lengthComputable: type !== 'abort' && type !== 'error', loaded, total };
    dispatch(targetState(this), markTrusted(new ProgressEvent(type, init)));
  }
}

for (const type of ['loadstart', 'progress', 'load', 'abort', 'error', 'loadend']) {
  defineHandler(FileReader.prototype, type);
}
defineConstants(FileReader, { EMPTY, LOADING, DONE });
defineInterface(FileReader);

/** The encoding that was asked for, else that of the type; a byte order mark goes before both. */
function decoderOf(bytes: Uint8Array, label: string | undefined, type: string): TextDecoder {
  const [first, second] = bytes;
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  if (first === 0xef && second === 0xbb && bytes[2] === 0xbf) return new TextDecoder();
  return (
    tryDecoder(label) ??
    tryDecoder(mapGet(parseMimeType(type)?.parameters ?? new MapCtor<string, string>(), 'charset')) ??
    new TextDecoder()
  );
}

function tryDecoder(label: string | undefined): TextDecoder | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
