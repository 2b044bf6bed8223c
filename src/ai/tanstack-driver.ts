/** A sandbox as the `IsolateDriver` of `@tanstack/ai-code-mode`. Nothing of the package is imported. */

import type { RunLog } from '../host/runs/types.js';
import { asVariables } from './as-variables.js';
import { type Box, errorOf, textsOf } from './box.js';

interface Binding {
  readonly description?: string;
  readonly execute: (args: unknown) => Promise<unknown>;
}

interface Configuration {
  /** By the names of the functions in the code. */
  readonly bindings: Readonly<Record<string, Binding>>;
  /** Milliseconds. */
  readonly timeout?: number;
  /** Megabytes. */
  readonly memoryLimit?: number;
}

interface Outcome<T> {
  success: boolean;
  value?: T;
  error?: { name: string; message: string; stack?: string; code?: string };
  logs?: string[];
}

export interface TanstackDriver {
  createContext(config: Configuration): Promise<{
    execute<T = unknown>(code: string): Promise<Outcome<T>>;
    dispose(): Promise<void>;
  }>;
}

const MEGABYTE = 1_000_000;

/** The bindings of a context are further tools of its runs. Its timeout and memory count where they are lower than the limits of the sandbox. */
export function tanstackDriver(box: Box): TanstackDriver {
  return {
    async createContext({ bindings, timeout, memoryLimit }) {
      const tools = Object.fromEntries(
        Object.entries(bindings).map(([name, { execute }]) => [name, { run: (args: unknown) => execute(args) }]),
      );
      const limits = {
        ...(timeout !== undefined && { wallMs: timeout }),
        ...(memoryLimit !== undefined && { memoryBytes: memoryLimit * MEGABYTE }),
      };
      const own = box.with({ tools, limits });
      const disposed = new AbortController();
      return {
        async execute<T>(code: string): Promise<Outcome<T>> {
          const result = await own.run(asVariables(Object.keys(bindings), code), { signal: disposed.signal });
          const logs = textsOf(result.logs, levelMark);
          // The caller says which type its code returns.
          if (result.status === 'ok') return { success: true, value: result.value as T, logs };
          const { error } = result;
          const more = error === undefined ? {} : { stack: error.stack, code: error.code };
          return { success: false, error: { ...errorOf(result), ...more }, logs };
        },
        async dispose() {
          disposed.abort(new Error('The context is disposed'));
        },
      };
    },
  };
}

function levelMark(level: RunLog['level']): string {
  return level === 'log' ? '' : `${level.toUpperCase()}: `;
}
