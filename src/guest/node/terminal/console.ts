/** node:console: the global console, and consoles that write to streams. @see https://nodejs.org/api/console.html */

import { monotonicNow } from '../../web/base/clock.ts';
import { console, tableText } from '../../web/console/console.ts';
import { checkObject, codeError, invalidArgValue } from '../errors.ts';
import { formatWithOptions, type InspectOptions, inspect } from '../util/inspect.ts';

interface Output {
  write(text: string): unknown;
}

interface Options {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly ignoreErrors: boolean;
  readonly inspectOptions: InspectOptions;
  readonly indent: string;
}

function optionsOf(given: unknown, stderr: unknown, ignoreErrors: unknown): Options {
  const options: { readonly [name: string]: unknown } =
    typeof given !== 'object' || given === null || canWrite(given)
      ? { stdout: given, stderr, ignoreErrors }
      : { ...given };
  const output = options.stdout;
  const errors = options.stderr ?? output;
  const { colorMode = 'auto', inspectOptions, groupIndentation = 2 } = options;
  if (!canWrite(output)) throw notWritable('stdout');
  if (!canWrite(errors)) throw notWritable('stderr');
  if (colorMode !== 'auto' && typeof colorMode !== 'boolean') throw invalidArgValue('colorMode', colorMode);
  if (inspectOptions !== undefined) checkObject(inspectOptions, 'options.inspectOptions');
  return {
    stdout: output,
    stderr: errors,
    ignoreErrors: options.ignoreErrors !== false,
    inspectOptions: { ...(colorMode === true && { colors: true }), ...inspectOptions },
    indent: ' '.repeat(Number(groupIndentation)),
  };
}

function canWrite(value: unknown): value is Output {
  return typeof (value as Output | null | undefined)?.write === 'function'; // read as unknown
}

function notWritable(name: string): TypeError {
  return codeError(TypeError, 'ERR_CONSOLE_WRITABLE_STREAM', `Console expects a writable stream instance for ${name}`);
}

function elapsed(startMs: number): string {
  const ms = monotonicNow() - startMs;
  return ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${Number(ms.toPrecision(4))}ms`;
}

/** The methods are bound: code passes them on as callbacks. */
class Console {
  readonly #options: Options;
  readonly #counts = new Map<string, number>();
  readonly #timers = new Map<string, number>();
  #indent = '';

  constructor(options: unknown, stderr?: unknown, ignoreErrors?: unknown) {
    this.#options = optionsOf(options, stderr, ignoreErrors);
    for (const name of Object.getOwnPropertyNames(Console.prototype)) {
      if (name === 'constructor') continue;
      const method: unknown = Reflect.get(this, name);
      if (typeof method !== 'function') continue;
      const value: unknown = method.bind(this);
      Object.defineProperty(value, 'name', { value: name });
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    }
  }

  log(...args: unknown[]): void {
    this.#write(this.#options.stdout, this.#format(args));
  }

  info(...args: unknown[]): void {
    this.#write(this.#options.stdout, this.#format(args));
  }

  debug(...args: unknown[]): void {
    this.#write(this.#options.stdout, this.#format(args));
  }

  dirxml(...args: unknown[]): void {
    this.#write(this.#options.stdout, this.#format(args));
  }

  error(...args: unknown[]): void {
    this.#write(this.#options.stderr, this.#format(args));
  }

  warn(...args: unknown[]): void {
    this.#write(this.#options.stderr, this.#format(args));
  }

  trace(...args: unknown[]): void {
    const text = this.#format(args);
    const stack = String(new Error().stack).replace(/^Error\n?/, '');
    this.#write(this.#options.stderr, `Trace${text === '' ? '' : `: ${text}`}${stack === '' ? '' : `\n${stack}`}`);
  }

  dir(value: unknown, options?: object): void {
    const text = inspect(value, { customInspect: false, ...this.#options.inspectOptions, ...options });
    this.#write(this.#options.stdout, text);
  }

  table(data: unknown, columns?: unknown): void {
    if (typeof data !== 'object' || data === null) this.log(data);
    else this.#write(this.#options.stdout, tableText(data, columns));
  }

  assert(condition: unknown, ...args: unknown[]): void {
    if (condition) return;
    const [first, ...rest] = args;
    if (typeof first === 'string') this.warn(`Assertion failed: ${first}`, ...rest);
    else this.warn('Assertion failed', ...args);
  }

  count(label: unknown = 'default'): void {
    const name = String(label);
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    this.log(`${name}: ${count}`);
  }

  countReset(label: unknown = 'default'): void {
    this.#counts.delete(String(label));
  }

  group(...args: unknown[]): void {
    if (args.length > 0) this.log(...args);
    this.#indent += this.#options.indent;
  }

  groupCollapsed(...args: unknown[]): void {
    this.group(...args);
  }

  groupEnd(): void {
    this.#indent = this.#indent.slice(0, this.#indent.length - this.#options.indent.length);
  }

  time(label: unknown = 'default'): void {
    const name = String(label);
    if (!this.#timers.has(name)) this.#timers.set(name, monotonicNow());
  }

  timeLog(label: unknown = 'default', ...args: unknown[]): void {
    const startMs = this.#timers.get(String(label));
    if (startMs !== undefined) this.log('%s: %s', String(label), elapsed(startMs), ...args);
  }

  timeEnd(label: unknown = 'default'): void {
    this.timeLog(label);
    this.#timers.delete(String(label));
  }

  /** There is no terminal to clear. */
  clear(): void {
    void this.#indent;
  }

  #format(args: readonly unknown[]): string {
    return formatWithOptions(this.#options.inspectOptions, ...args);
  }

  #write(output: Output, text: string): void {
    const lines = this.#indent === '' ? text : this.#indent + text.replaceAll('\n', `\n${this.#indent}`);
    try {
      output.write(`${lines}\n`);
    } catch (error) {
      if (!this.#options.ignoreErrors) throw error;
    }
  }
}

/** Code also calls it without `new`. */
const ConsoleFunction = new Proxy(Console, {
  apply: (target, _receiver, args: [unknown, unknown, unknown]) => new target(...args),
});

export default Object.create(console, {
  Console: { value: ConsoleFunction, writable: true, enumerable: true, configurable: true },
});
