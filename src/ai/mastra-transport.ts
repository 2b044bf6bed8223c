/** A sandbox as the `CodeModeTransport` of `@mastra/core`. Nothing of the package is imported. */

import { asVariables } from './as-variables.js';
import { type Box, bracketed, errorOf, textsOf } from './box.js';

interface Run {
  /** The body of a function, in JavaScript or TypeScript. */
  readonly program: string;
  /** The functions `external_<id>`. */
  readonly toolIds: readonly string[];
  readonly dispatch: (tool: string, args: unknown) => Promise<unknown>;
  /** Milliseconds. */
  readonly timeout: number;
  readonly abortSignal?: AbortSignal | undefined;
  readonly onExternalCall?: (tool: string, args: unknown) => void;
  readonly onExternalResult?: (tool: string, durationMs: number, error?: unknown) => void;
}

export interface MastraTransport {
  /** The boundary is the transport's own: no sandbox of a workspace is needed. */
  readonly requiresSandbox: false;
  run(options: Run): Promise<{
    success: boolean;
    result?: unknown;
    logs?: string[];
    error?: { message: string; name?: string; line?: number };
  }>;
}

const PREFIX = 'external_';

/** The tools of a call are further tools of its run. Its timeout counts where it is lower than the limit of the sandbox. */
export function mastraTransport(box: Box): MastraTransport {
  return {
    requiresSandbox: false,
    async run(options) {
      const { program, toolIds, timeout, abortSignal } = options;
      const tools = Object.fromEntries(toolIds.map(id => [`${PREFIX}${id}`, { run: caller(id, options) }]));
      const result = await box
        .with({ tools, limits: { wallMs: timeout } })
        .run(asVariables(Object.keys(tools), program), abortSignal === undefined ? {} : { signal: abortSignal });
      const logs = textsOf(result.logs, bracketed);
      if (result.status === 'ok') return { success: true, result: result.value, logs };
      return { success: false, error: errorOf(result), logs };
    },
  };
}

function caller(id: string, { dispatch, onExternalCall, onExternalResult }: Run): (args: unknown) => Promise<unknown> {
  return async args => {
    const beganMs = performance.now();
    onExternalCall?.(id, args);
    try {
      const result = await dispatch(id, args);
      onExternalResult?.(id, performance.now() - beganMs);
      return result;
    } catch (error) {
      onExternalResult?.(id, performance.now() - beganMs, error);
      throw error;
    }
  };
}
