/** A sandbox as the `Executor` of `@cloudflare/codemode`. Nothing of the package is imported. */

import type { Tools } from '../host/runs/tools/tool-types.js';
import type { RunLog } from '../host/runs/types.js';
import { messageOf } from '../quotas/errors.js';
import { type Box, errorOf, textsOf } from './box.js';

type Functions = Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

/** Functions under a name. */
interface Provider {
  readonly name: string;
  readonly fns: Functions;
  /** Code that runs before the code, and may set properties of the name. */
  readonly prelude?: string;
}

export interface CodemodeExecutor {
  execute(
    code: string,
    providersOrFns: readonly Provider[] | Functions,
    options?: { readonly connectors?: readonly unknown[] },
  ): Promise<{ result: unknown; error?: string; logs?: string[] }>;
}

/** The functions of a call are further tools of its run, so `approve` and the limits of the sandbox hold for them. */
export function codemodeExecutor(box: Box): CodemodeExecutor {
  return {
    async execute(code, providersOrFns, { connectors = [] } = {}) {
      const providers: readonly Provider[] = isList(providersOrFns)
        ? providersOrFns
        : [{ name: 'codemode', fns: providersOrFns }];
      try {
        if (connectors.length > 0) throw new TypeError('Connectors are objects of the hosted platform; pass functions');
        const result = await box.with({ tools: toolsOf(providers) }).run(programOf(code, providers));
        const logs = textsOf(result.logs, levelMark);
        if (result.status === 'ok') return { result: result.value, logs };
        return { result: undefined, error: errorOf(result).message, logs };
      } catch (error) {
        // An executor answers its own errors, too.
        return { result: undefined, error: messageOf(error) };
      }
    },
  };
}

function isList(value: readonly Provider[] | Functions): value is readonly Provider[] {
  return Array.isArray(value);
}

function toolsOf(providers: readonly Provider[]): Tools {
  // A call of several arguments crosses as the list of them.
  const entries = providers.map(({ name, fns }) => [
    name,
    Object.fromEntries(Object.entries(fns).map(([method, fn]) => [method, { run: (args: unknown[]) => fn(...args) }])),
  ]);
  return Object.fromEntries(entries);
}

/** The code is the text of a function. Names of providers are variables, whose own properties come before their functions. */
function programOf(code: string, providers: readonly Provider[]): string {
  const names = providers.map(
    ({ name }) =>
      `const ${name} = new Proxy({}, { get: (own, key) => Object.hasOwn(own, key) || typeof key !== 'string' || key === 'then' ? own[key] : (...args) => tools.${name}[key](args) });`,
  );
  const preludes = providers.flatMap(({ prelude }) => (prelude === undefined ? [] : [`${prelude}\n`]));
  return `${names.join('')}${preludes.join('')}return await (${code}\n)();`;
}

function levelMark(level: RunLog['level']): string {
  return level === 'warn' || level === 'error' ? `[${level}] ` : '';
}
