/** What an attack program is: a function that tries one thing, and what must hold when it is run. */

import { PROBE } from './probe.js';

export interface Attack {
  /** What is tried, as the end of the sentence "a function that tries ...". */
  readonly tries: string;
  /** The rules of docs/security.md that stand in its way. */
  readonly rules: readonly string[];
  /** The modules of the function by name, the main one first; `probe.js` is there to be imported. */
  readonly modules: Readonly<Record<string, string>>;
  /** Deployed as a classic script instead. */
  readonly isScript: boolean;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly holds: Holds;
  /** Not run with `isolation: 'thread'`, which does not promise to outlive it. */
  readonly isProcessOnly: boolean;
}

/** What must hold. In every case the host lives, and other functions of this and of other accounts answer afterwards. */
export type Holds =
  /** The function answers, and nothing it got hold of is of the host realm. */
  | { readonly kind: 'contained' }
  /** It is not loaded, with one of these codes. */
  | { readonly kind: 'refused'; readonly codes: readonly string[] }
  /** Its invocation ends with one of these codes. */
  | { readonly kind: 'ended'; readonly codes: readonly string[] };

export const contained: Holds = { kind: 'contained' };

export function refused(...codes: string[]): Holds {
  return { kind: 'refused', codes };
}

export function ended(...codes: string[]): Holds {
  return { kind: 'ended', codes };
}

export interface AttackInit {
  readonly tries: string;
  readonly rules: readonly string[];
  /**
   * The body of the fetch handler: `request`, `env`, `ctx` and what probe.js exports are in scope. What it keeps is searched for objects of
   * the host realm.
   */
  readonly body?: string;
  /** Code of the global scope, before the handler. */
  readonly top?: string;
  /** In place of `body` and `top`. */
  readonly modules?: Readonly<Record<string, string>>;
  readonly script?: string;
  readonly vars?: Readonly<Record<string, unknown>>;
  readonly holds?: Holds;
  readonly isProcessOnly?: boolean;
}

export function attack(init: AttackInit): Attack {
  const { tries, rules, body = '', top = '', script, vars = {}, holds = contained, isProcessOnly = false } = init;
  const main = `import { attempt, atTheEdge, fail, inspected, keep, report, settle } from './probe.js';
${top}
export default { async fetch(request, env, ctx) {
keep(request); keep(env); keep(ctx);
${body}
return report();
} };`;
  const modules =
    script === undefined
      ? (init.modules ?? { 'main.js': main })
      : { 'main.js': `${PROBE.replaceAll(/^export (?:\{.*\};)?/gm, '')}\n${script}` };
  return { tries, rules, modules, isScript: script !== undefined, vars, holds, isProcessOnly };
}
