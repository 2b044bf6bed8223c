/**
 * The options of a subcommand: one table declares them, and both the parsing of the arguments and the help follow from it. Values have the
 * types of the table; any other argument is a UsageError that names it and the option that was probably meant.
 */
import { parseArgs } from 'node:util';
import { nearestOf } from './nearest.js';

interface Described {
  /** The text of the help, in one line or several. */
  readonly text: string;
  /** One letter. */
  readonly short?: string;
}

export interface FlagOption extends Described {
  readonly kind: 'flag';
}
export interface TextOption extends Described {
  readonly kind: 'text';
  /** The placeholder of the value in the help: `DIR`. */
  readonly value: string;
}
/** May be given several times. */
export interface ListOption extends Described {
  readonly kind: 'list';
  readonly value: string;
}
export interface ChoiceOption<C extends string = string> extends Described {
  readonly kind: 'choice';
  readonly value: string;
  readonly choices: readonly C[];
}
/** A whole number. */
export interface NumberOption extends Described {
  readonly kind: 'number';
  readonly value: string;
  readonly min: number;
  readonly max: number;
}

export type Option = FlagOption | TextOption | ListOption | ChoiceOption | NumberOption;
export type OptionTable = Readonly<Record<string, Option>>;

export type OptionValue<O> = O extends FlagOption
  ? boolean
  : O extends ListOption
    ? readonly string[]
    : O extends ChoiceOption<infer C>
      ? C | undefined
      : O extends NumberOption
        ? number | undefined
        : string | undefined;

/** The arguments of a subcommand. */
export interface Syntax<T extends OptionTable = OptionTable> {
  readonly name: string;
  /** The positional arguments as the help writes them, such as `[DIR|FILE]`; empty for a command without any. */
  readonly paths: string;
  /** How many paths there may be. */
  readonly count: { readonly min: number; readonly max: number };
  /** Its description, in sentences. */
  readonly about: string;
  readonly options: T;
  /** Further sections of the help, each with its heading. */
  readonly sections?: readonly (readonly [heading: string, text: string])[];
  readonly examples: readonly string[];
}

export interface Arguments<T extends OptionTable> {
  readonly values: { readonly [N in keyof T]: OptionValue<T[N]> };
  readonly paths: readonly string[];
}

/** The arguments cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const HELP = { kind: 'flag', short: 'h', text: 'this text' } as const satisfies FlagOption;

/**
 * @returns undefined when the help was asked for
 * @throws UsageError an option that there is not, a value that is missing or not allowed, too few or too many paths
 */
export function readArguments<T extends OptionTable>(
  syntax: Syntax<T>,
  args: readonly string[],
): Arguments<T> | undefined {
  const options = new Map<string, Option>([...Object.entries(syntax.options), ['help', HELP]]);
  const { tokens } = parseArgs({
    args: [...args],
    // Unknown options are reported below, with the one that was probably meant.
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      [...options].map(([name, { kind, short }]) => [
        name,
        { type: kind === 'flag' ? 'boolean' : 'string', ...(short !== undefined && { short }) } as const,
      ]),
    ),
  });
  const given = new Map<string, (string | undefined)[]>();
  const paths: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') paths.push(token.value);
    if (token.kind !== 'option') continue;
    const option = options.get(token.name);
    if (option === undefined) throw unknownOption(token.rawName, options.keys());
    const isTaken = token.value !== undefined && token.inlineValue === false && /^-./.test(token.value);
    if (option.kind === 'flag' && token.value !== undefined)
      throw new UsageError(`Option ${token.rawName} takes no value, got ${JSON.stringify(token.value)}`);
    if (option.kind !== 'flag' && (token.value === undefined || isTaken))
      throw new UsageError(`Option ${token.rawName} needs a value: ${token.rawName} ${option.value}`);
    given.set(token.name, [...(given.get(token.name) ?? []), token.value]);
  }
  if (given.has('help')) return undefined;
  checkCount(syntax, paths);
  const values = Object.fromEntries(
    Object.entries(syntax.options).map(([name, option]) => [name, checkedValue(name, option, given.get(name))]),
  );
  // Made by the same table as its type.
  return { values: values as Arguments<T>['values'], paths };
}

function unknownOption(name: string, known: Iterable<string>): UsageError {
  const nearest = nearestOf(name.replace(/^-+/, ''), known);
  return new UsageError(`There is no option ${name}${nearest === undefined ? '' : `; did you mean --${nearest}?`}`);
}

function checkCount({ paths: wanted, count: { min, max } }: Syntax, paths: readonly string[]): void {
  if (paths.length < min) throw new UsageError(`A path is needed: ${wanted}`);
  if (paths.length > max) {
    const extra = paths.slice(max).map(path => JSON.stringify(path));
    throw new UsageError(`Too many arguments: ${extra.join(', ')}; at most ${max} ${max === 1 ? 'is' : 'are'} taken`);
  }
}

function checkedValue(name: string, option: Option, given: readonly (string | undefined)[] | undefined): unknown {
  if (option.kind === 'list') return given ?? [];
  if (option.kind === 'flag') return given !== undefined;
  // Given twice, the last one counts, as with most commands.
  const value = given?.at(-1);
  if (value === undefined || option.kind === 'text') return value;
  if (option.kind === 'choice') {
    if (option.choices.includes(value)) return value;
    throw new UsageError(`Option --${name} is ${JSON.stringify(value)}, expected one of ${option.choices.join(', ')}`);
  }
  const { min, max } = option;
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`Option --${name} is ${JSON.stringify(value)}, expected a whole number from ${min} to ${max}`);
}

/** The text of `--help`. */
export function helpOf({ name, paths, about, options, sections = [], examples }: Syntax): string {
  const all: OptionTable = { ...options, help: HELP };
  const rows = Object.entries(all).map(([long, option]) => {
    const short = option.short === undefined ? '' : `-${option.short}, `;
    return [`${short}--${long}${option.kind === 'flag' ? '' : ` ${option.value}`}`, option.text] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  const lines = rows.map(
    ([left, text]) => `  ${left.padEnd(width)}${text.replaceAll('\n', `\n${' '.repeat(width + 2)}`)}`,
  );
  return [
    `Usage: edgehost ${name} [options]${paths === '' ? '' : ` ${paths}`}\n`,
    `${about}\n`,
    ...sections.map(([heading, text]) => `${heading}\n${indented(text)}\n`),
    `Options\n${lines.join('\n')}\n`,
    `Examples\n${indented(examples.join('\n'))}\n`,
  ].join('\n');
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
