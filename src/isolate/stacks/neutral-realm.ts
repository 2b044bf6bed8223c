/**
 * The code of the neutral realm: a context in which nothing is but the function that writes stacks (rule R4, stack-formatter.ts). The engine calls that
 * function wherever function code reads a `stack`, also with no stack left, and what it throws at its entry reaches function code. So an error of this realm
 * leads nowhere: its prototype has no prototype, no constructor and no functions, and there is nothing of the host realm here but one function in a closure.
 *
 * The function is compiled in that context from its text: it may refer to nothing outside of itself.
 */

/** A place of a frame, as "file:line:column", where it was written; the empty text leaves it as it is. A function of the host realm. */
export type PlaceText = (file: string, line: number, column: number) => string;

/** The function that the engine calls with the global object of the error, the error, and its call sites. Answers text, and never throws on purpose. */
export type StackFormatter = (global: unknown, error: unknown, sites: unknown) => string;

/** The methods of call sites that are used here. Function code never sees their prototype. */
interface CallSite {
  getScriptNameOrSourceURL(): unknown;
  getLineNumber(): unknown;
  getColumnNumber(): unknown;
  toString(): unknown;
}

/**
 * Makes the realm neutral and returns the function that creates the formatter.
 *
 * @param foreignPattern matches files that are not the function's: the source of a regular expression
 * @param shownFrames the most frames that are written
 * @param maxText only the length of a longer name or message is written: reading a concatenated text makes the engine flatten it
 */
export function neutralRealm(
  foreignPattern: string,
  shownFrames: number,
  maxText: number,
): (placeText: PlaceText) => StackFormatter {
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys, setPrototypeOf } = Reflect;
  const { freeze } = Object;
  const { lastIndexOf, slice } = String.prototype;
  const { exec } = RegExp.prototype;
  const foreign = new RegExp(foreignPattern);
  // No error of this realm has a stack, which would be written by the formatter in turn.
  const noStacks = { value: undefined, writable: false, configurable: false, enumerable: false };
  defineProperty(Error, 'stackTraceLimit', noStacks);
  for (const kind of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
    const { prototype } = kind;
    for (const key of ownKeys(prototype)) {
      if (key !== 'name' && key !== 'message') deleteProperty(prototype, key);
    }
    setPrototypeOf(prototype, null);
    freeze(prototype);
  }
  // Where the engine has `stack` as an accessor of each error, its two functions are all that leads on.
  const stack = getOwnPropertyDescriptor(new RangeError(), 'stack');
  for (const accessor of [stack?.get, stack?.set]) {
    if (accessor === undefined) continue;
    setPrototypeOf(accessor, null);
    freeze(accessor);
  }
  const functionPrototype: object = Function.prototype;
  for (const key of ownKeys(functionPrototype)) deleteProperty(functionPrototype, key);
  setPrototypeOf(functionPrototype, null);
  freeze(functionPrototype);

  const textOf = (value: unknown): string => {
    const text = `${value}`; // may call function code, for its own object
    return text.length > maxText ? `(a text of ${text.length} characters)` : text;
  };
  const headline = (error: unknown): string => {
    try {
      const { name, message } = error as { name: unknown; message: unknown }; // an error without them throws, and is caught
      const title = name === undefined ? 'Error' : textOf(name);
      const text = message === undefined ? '' : textOf(message);
      if (title === '') return text;
      return text === '' ? title : `${title}: ${text}`;
    } catch {
      return 'Error';
    }
  };
  return placeText => {
    const written = (file: string, line: number, column: number): string => {
      let place: unknown;
      // With no stack left it throws an error of the host realm, which reaches no other code.
      try {
        place = placeText(file, line, column);
      } catch {
        place = '';
      }
      return typeof place === 'string' && place !== '' ? place : `${file}:${line}:${column}`;
    };
    const frame = (site: CallSite): string => {
      const file = site.getScriptNameOrSourceURL();
      const line = site.getLineNumber();
      const column = site.getColumnNumber();
      if (typeof file !== 'string' || typeof line !== 'number' || typeof column !== 'number') return '';
      if (apply(exec, foreign, [file]) !== null) return '';
      const text = site.toString();
      if (typeof text !== 'string') return '';
      const place = `${file}:${line}:${column}`;
      const at = apply(lastIndexOf, text, [place]);
      if (at < 0) return '';
      const before: string = apply(slice, text, [0, at]);
      const after: string = apply(slice, text, [at + place.length]);
      return `\n    at ${before}${written(file, line, column)}${after}`;
    };
    return (_global, error, sites) => {
      const head = headline(error);
      let frames = '';
      try {
        const list = sites as { readonly length: number; readonly [index: number]: CallSite }; // an array that the engine has just made
        for (let i = 0, shown = 0; i < list.length && shown < shownFrames; i++) {
          const site = list[i];
          const text = site === undefined ? '' : frame(site);
          frames += text;
          if (text !== '') shown++;
        }
      } catch {
        // No stack is left: the lines written so far remain.
      }
      return head + frames;
    };
  };
}
