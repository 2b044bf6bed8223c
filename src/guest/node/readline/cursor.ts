/** The sequences that move the cursor of a terminal. @see https://nodejs.org/api/readline.html#readlinecursortostream-x-y-callback */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { checkFunction, checkInteger, codeError, invalidArgValue } from '../errors.ts';

interface Output {
  write(text: string, callback?: unknown): boolean;
}

const ESCAPE = '\x1b[';

/** Undefined: nothing moves. */
export const sequences = {
  clearLine: (direction: unknown): string => `${ESCAPE}${Number(direction) < 0 ? 1 : Number(direction) > 0 ? 0 : 2}K`,
  clearScreenDown: (): string => `${ESCAPE}0J`,
  cursorTo(x: unknown, y: unknown): string {
    if (Number.isNaN(x)) throw invalidArgValue('x', x);
    if (Number.isNaN(y)) throw invalidArgValue('y', y);
    if (typeof x !== 'number') {
      throw codeError(TypeError, 'ERR_INVALID_CURSOR_POS', 'Cannot set cursor row without setting its column');
    }
    return typeof y === 'number' ? `${ESCAPE}${y + 1};${x + 1}H` : `${ESCAPE}${x + 1}G`;
  },
  moveCursor(dx: unknown, dy: unknown): string {
    const columns = Number(dx);
    const rows = Number(dy);
    let text = '';
    if (columns !== 0) text += `${ESCAPE}${Math.abs(columns)}${columns < 0 ? 'D' : 'C'}`;
    if (rows !== 0) text += `${ESCAPE}${Math.abs(rows)}${rows < 0 ? 'A' : 'B'}`;
    return text;
  },
};

function send(output: Output | null | undefined, text: string | undefined, callback: unknown): boolean {
  if (callback !== undefined) checkFunction(callback, 'callback');
  if (text !== undefined && text !== '' && output !== null && output !== undefined) return output.write(text, callback);
  if (typeof callback === 'function') queueMicrotask(() => Reflect.apply(callback, undefined, [null]));
  return true;
}

export function clearLine(output: Output, direction: unknown, callback?: unknown): boolean {
  return send(output, sequences.clearLine(direction), callback);
}

export function clearScreenDown(output: Output, callback?: unknown): boolean {
  return send(output, sequences.clearScreenDown(), callback);
}

export function cursorTo(output: Output, x: unknown, y?: unknown, callback?: unknown): boolean {
  const [row, done] = typeof y === 'function' ? [undefined, y] : [y, callback];
  if (done !== undefined) checkFunction(done, 'callback');
  const isNowhere = typeof x !== 'number' && typeof row !== 'number';
  return send(output, isNowhere ? undefined : sequences.cursorTo(x, row), done);
}

export function moveCursor(output: Output, dx: unknown, dy: unknown, callback?: unknown): boolean {
  return send(output, sequences.moveCursor(dx, dy), callback);
}

/** Collects sequences and writes them at once. */
export class Readline {
  readonly #output: Output;
  readonly #autoCommit: boolean;
  #text = '';

  constructor(output: Output, options: { readonly autoCommit?: boolean } = {}) {
    this.#output = output;
    this.#autoCommit = options.autoCommit === true;
  }

  cursorTo(x: unknown, y?: unknown): this {
    checkInteger(x, 'x');
    if (y !== undefined) checkInteger(y, 'y');
    return this.#add(sequences.cursorTo(x, y));
  }

  moveCursor(dx: unknown, dy: unknown): this {
    if (dx || dy) {
      checkInteger(dx, 'dx');
      checkInteger(dy, 'dy');
      this.#add(sequences.moveCursor(dx, dy));
    }
    return this;
  }

  clearLine(direction: unknown): this {
    checkInteger(direction, 'dir', -1, 1);
    return this.#add(sequences.clearLine(direction));
  }

  clearScreenDown(): this {
    return this.#add(sequences.clearScreenDown());
  }

  commit(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    return new Promise(resolve => void this.#output.write(text, () => resolve()));
  }

  rollback(): this {
    this.#text = '';
    return this;
  }

  #add(text: string): this {
    if (this.#autoCommit) queueMicrotask(() => this.#output.write(text));
    else this.#text += text;
    return this;
  }
}
