/** node:readline. @see https://nodejs.org/api/readline.html */
import { clearLine, clearScreenDown, cursorTo, moveCursor } from './cursor.ts';
import { Interface as LineInterface } from './interface.ts';
import promises from './promises.ts';

const promisify = Symbol.for('nodejs.util.promisify.custom');

/** Code also calls it without `new`. */
const Interface = new Proxy(LineInterface, {
  apply: (target, _receiver, args: [unknown, unknown, unknown, unknown]) => new target(...args),
});

function createInterface(input: unknown, output?: unknown, completer?: unknown, terminal?: unknown): LineInterface {
  return new Interface(input, output, completer, terminal);
}

Object.defineProperty(LineInterface.prototype.question, promisify, {
  value(this: LineInterface, query: unknown, options?: object): Promise<string> {
    return promises.Interface.prototype.question.call(this as never, query, options); // it calls ask() alone
  },
});

export default { Interface, clearLine, clearScreenDown, createInterface, cursorTo, moveCursor, promises };
