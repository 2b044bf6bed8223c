/** The start of code that a function has loaded, as its account takes it (functions/start-loaded.ts). */
import type { CompiledRules } from '../../bindings/egress/rules/compiled-rules.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import type { LoadHead } from '../../protocol/messages.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { ScriptSource } from '../deploy/deployment.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import type { ResolvedLoadOptions } from '../options/options.js';

/** The parts of a start besides its account. */
export interface StartParts {
  readonly source: ScriptSource;
  readonly options: ResolvedLoadOptions;
  readonly limits: ResolvedLimits;
  readonly egress: CompiledRules | undefined;
  readonly tails: readonly ServiceTarget[];
  readonly env: LoadHead['loaded'];
}

/** Code that has started. */
export interface StartedCode {
  readonly runner: FunctionRunner;
  /** Another runner of the same code, with other limits. Its isolate starts with its first invocation. */
  again(limits: ResolvedLimits): FunctionRunner;
}
