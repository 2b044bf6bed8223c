/**
 * Stacks of the function's code where it has no native ones (rule R4). An error of this realm, made while the guest waits in hostCall, has the guest's
 * frames on its stack; it stays here, and what the guest may ask for is text with the frames of its own files alone.
 */
import { nextTick } from 'node:process';
import type { SourcePlace } from '../../stacks/source-places.js';
import { FOREIGN, SHOWN_FRAMES } from '../../stacks/stack-formatter.js';
import { checkedInteger } from '../arguments.js';
import type { OpSet } from '../op-set.js';
import { Op } from '../table.js';

/** Older ones are forgotten. */
const MAX_REMEMBERED = 64;
/** Captured with the frames of the bridge and of the bundle, which are cut away. */
const CAPTURED_FRAMES = 30;

// At once, since Error is frozen when the thread is hardened.
Error.stackTraceLimit = CAPTURED_FRAMES;

/** `placeOf`: the source place of a place in the running code. */
export function stackOps(placeOf: (place: SourcePlace) => SourcePlace): OpSet {
  /** An error holds all that its frames hold, a large body among them: with the turn it becomes text. */
  const remembered: (Error | string)[] = new Array(MAX_REMEMBERED).fill('');
  let last = 0;
  let lastWritten = 0;
  const writeOut = (): void => {
    for (let number = Math.max(lastWritten, last - MAX_REMEMBERED) + 1; number <= last; number++) text(number);
    lastWritten = last;
  };
  const text = (number: number): string => {
    const slot = number % MAX_REMEMBERED;
    const stack = remembered[slot] ?? '';
    if (typeof stack === 'string') return stack;
    const written = typeof stack.stack === 'string' ? stack.stack : '';
    remembered[slot] = written;
    return written;
  };
  return {
    [Op.StackCapture]: () => {
      // After the turn, and the microtasks that are part of it.
      if (last === lastWritten) nextTick(writeOut);
      remembered[++last % MAX_REMEMBERED] = new Error();
      return last;
    },
    [Op.StackText]: number => {
      const wanted = checkedInteger(number, 1, Number.MAX_SAFE_INTEGER);
      return wanted > last || wanted <= last - MAX_REMEMBERED ? '' : framesOf(text(wanted), placeOf);
    },
  };
}

function framesOf(stack: string, placeOf: (place: SourcePlace) => SourcePlace): string {
  let text = '';
  let shown = 0;
  for (const line of stack.split('\n')) {
    if (!line.startsWith('    at ') || shown === SHOWN_FRAMES) continue;
    const open = line.lastIndexOf('(');
    const start = open < 0 ? (/^ {4}at (?:async )?/.exec(line)?.[0].length ?? 0) : open + 1;
    const end = open < 0 ? line.length : line.length - 1;
    const place = line.slice(start, end);
    if (FOREIGN.test(place) || !place.includes(':')) continue;
    text += `\n${line.slice(0, start)}${placed(place, placeOf)}${line.slice(end)}`;
    shown++;
  }
  return text;
}

function placed(text: string, placeOf: (place: SourcePlace) => SourcePlace): string {
  const [, file, line, column] = /^(.*):(\d+):(\d+)$/.exec(text) ?? [];
  if (file === undefined) return text;
  const found = placeOf({ file, line: Number(line), column: Number(column) });
  return `${found.file}:${found.line}:${found.column}`;
}
