/** The error of a deployment that does not load, in the coordinates of its own files. */
import type { ScriptFailure } from '../../../protocol/messages.js';
import { EdgeError } from '../../../quotas/errors.js';
import { hintAboutGlobal } from './missing-globals.js';

export function loadFailure(context: { readonly function: string }, failure: ScriptFailure): EdgeError {
  const position = failure.file === undefined ? positionIn(failure.stack) : failure;
  const { file, line, column } = position ?? {};
  const where =
    file === undefined
      ? ''
      : ` (${file}${line === undefined ? '' : `:${line}`}${column === undefined ? '' : `:${column}`})`;
  const error = new EdgeError(
    failure.code,
    `Cannot load function "${context.function}": ${describe(failure)}${where}`,
    {
      location: { file, line, column },
    },
  );
  if (failure.stack !== undefined && failure.stack !== '')
    error.stack = `${error.name}: ${error.message}\n${frames(failure.stack)}`;
  return error;
}

function describe(failure: ScriptFailure): string {
  const { name, message } = failure;
  switch (failure.code) {
    case 'EDGE_SCRIPT_SYNTAX':
      return `it does not parse: ${message}${isPerhapsTyped(failure) ? HINT_TYPES : ''}`;
    case 'EDGE_SCRIPT_THREW':
      return `its global scope threw ${name}: ${message}${name === 'ReferenceError' || name === 'EvalError' ? hintAboutGlobal(message) : ''}`;
    case 'EDGE_SCRIPT_NO_HANDLER':
      return message === ''
        ? 'it exports no handler: export default an object with fetch, scheduled or queue, or call addEventListener'
        : message;
    default:
      return message;
  }
}

const HINT_TYPES =
  '. TypeScript and JSX are compiled before they are loaded: by edgehost dev and edgehost serve, or by esbuild in your build';

/** Type annotations and JSX stop the parser at these. */
function isPerhapsTyped({ file, message }: ScriptFailure): boolean {
  return (
    /\.(?:[cm]?tsx?|jsx)$/.test(file ?? '') ||
    /^Unexpected token '(?::|<)'|^Unexpected identifier 'as'|^Unexpected strict mode reserved word|^Missing initializer in const/.test(
      message,
    )
  );
}

/** The place of the first frame of a stack. */
export function positionIn(stack: string | undefined): { file: string; line: number; column: number } | undefined {
  const match = /(?:\(|at )([^\s()]+):(\d+):(\d+)\)?/.exec(stack ?? '');
  if (match?.[1] === undefined) return undefined;
  return { file: match[1], line: Number(match[2]), column: Number(match[3]) };
}

/** The function's own frames, without the line that repeats the message. */
function frames(stack: string): string {
  return stack
    .split('\n')
    .filter(line => line.trimStart().startsWith('at '))
    .join('\n');
}
