/** Colours, for output that goes to a terminal. */
import { inspect } from 'node:util';

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'cyan' | 'gray' | 'bold';

/** Puts text into a colour, or leaves it as it is. */
export type Paint = (colour: Colour, text: string) => string;

/**
 * Colours on a terminal unless NO_COLOR is set to anything or the terminal is a dumb one; FORCE_COLOR, unless it is 0, has them everywhere.
 * @see https://no-color.org
 */
export function paintFor({
  isTerminal,
  env,
}: {
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Paint {
  if (!hasColours(isTerminal, env)) return (_, text) => text;
  return (colour, text) => {
    const [open, close] = inspect.colors[colour] ?? [0, 0];
    return `\u001b[${open}m${text}\u001b[${close}m`;
  };
}

function hasColours(
  isTerminal: boolean,
  { NO_COLOR, FORCE_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
): boolean {
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0';
  return isTerminal && TERM !== 'dumb';
}
