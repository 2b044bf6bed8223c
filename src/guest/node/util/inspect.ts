/** inspect() and format(), of a library that has Node's own code. */
// The library has no types for what it reads in common with Node's own.
import * as library from 'node-inspect-extracted';

export interface InspectOptions {
  readonly colors?: boolean;
  readonly depth?: number | null;
  readonly [option: string]: unknown;
}

interface Library {
  inspect(value: unknown, options?: InspectOptions | boolean, depth?: number | null, colors?: boolean): string;
  format(...args: unknown[]): string;
  formatWithOptions(options: InspectOptions, ...args: unknown[]): string;
  stripVTControlCharacters(text: string): string;
}

export const { inspect, format, formatWithOptions, stripVTControlCharacters } = library as unknown as Library; // as Node declares them
export const inspectCustom = Symbol.for('nodejs.util.inspect.custom');
