/** parseArgs() and parseEnv(). */
import { parseArgs as parse } from '@pkgjs/parseargs';
import { checkObject, checkString, codeError } from '../errors.ts';
import { notSupported } from '../unsupported.ts';

export function parseArgs(config: unknown = {}): object {
  checkObject(config, 'config');
  const { args, allowNegative } = config as { args?: unknown; allowNegative?: unknown }; // any object can be read from
  if (allowNegative) throw notSupported('util', 'parseArgs({ allowNegative })', 'Declare an option for each negation');
  // A function has no command line.
  try {
    return parse({ ...config, args: args ?? [] });
  } catch (error) {
    throw asTypeError(error);
  }
}

/** Errors of parsing have another class in the library. */
function asTypeError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TypeError || !('code' in error)) return error;
  return codeError(TypeError, String(error.code), error.message);
}

const LINE = /^[ \t]*(?:export[ \t]+)?([^\s=#]+)[ \t]*=[ \t]*("[^"]*"|'[^']*'|`[^`]*`|[^\n#]*)/gm;

/** The variables of a `.env` file. */
export function parseEnv(content: unknown): { [name: string]: string } {
  checkString(content, 'content');
  const variables: { [name: string]: string } = {};
  for (const [, name = '', given = ''] of content.replaceAll('\r\n', '\n').matchAll(LINE)) {
    const text = given.trim();
    const [quote] = text;
    const isQuoted = text.length > 1 && (quote === '"' || quote === "'" || quote === '`') && text.endsWith(quote);
    const inner = isQuoted ? text.slice(1, -1) : text;
    variables[name] = isQuoted && quote === '"' ? inner.replaceAll('\\n', '\n') : inner;
  }
  return variables;
}
