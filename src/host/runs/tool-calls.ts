/** The calls of one run: each is counted, approved and recorded here, outside of the cell. */

import type { ClientBodies } from '../../bindings/bodies/given-bodies.js';
import { type CallbackShare, callbackBinding, gateOf } from '../../bindings/callbacks/callback-binding.js';
import { answering, nameAndMessage } from '../../bindings/callbacks/callback-service.js';
import type { ApplicationCallback, CallbackContext } from '../../bindings/callbacks/types.js';
import type { Service } from '../../bindings/service.js';
import { EdgeError } from '../../quotas/errors.js';
import { rethrowOutside } from '../../quotas/guarded.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { ToolTotals } from '../../usage/function-usage.js';
import { rounded } from '../invocation/reports/rounded.js';
import type { InvocationTrace } from '../telemetry/trace.js';
import { type RunLimits, runLimitError } from './run-limits.js';
import type { ToolSet } from './tools/tool-set.js';
import type { Approval, PendingCall, RunCall } from './types.js';

export interface ToolCallsOptions {
  readonly account: string;
  /** The name of the sandbox. */
  readonly name: string;
  readonly tools: ToolSet;
  readonly limits: RunLimits['own'];
  readonly approve: ((call: PendingCall) => Approval | Promise<Approval>) | undefined;
  readonly onCall: ((call: RunCall) => void) | undefined;
  /** The record of the run for OpenTelemetry. */
  readonly trace: () => InvocationTrace | undefined;
  readonly share: CallbackShare;
  readonly given: ClientBodies;
}

export class ToolCalls {
  readonly service: Service;
  readonly #options: ToolCallsOptions;
  readonly #calls: RunCall[] = [];
  readonly #open = new Map<string, (status: 'abandoned') => void>();
  readonly #startedMs = performance.now();
  readonly #totals = { toolCalls: 0, toolMs: 0 };
  #count = 0;
  /** Answers whose streams are not at their end. */
  #streaming = 0;
  #exceeded: EdgeError | undefined;
  #isOver = false;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
    const { account, name, share, given, limits } = options;
    const find =
      (tool: string): ApplicationCallback =>
      (input, context) =>
        this.#call(tool, input, context);
    const answer = answering(find, undefined, {
      account,
      function: name,
      props: {},
      // The run ends before.
      timeoutMs: Math.min(limits.wallMs, MAX_TIMER_MS),
      given,
      ...gateOf(share, account),
    });
    this.service = async call => {
      const reply = await answer(call);
      const { body } = reply;
      if (body === undefined || body === null || body instanceof Uint8Array) return reply;
      this.#streaming++;
      return { ...reply, body: withEnd(body, () => this.#streaming--) };
    };
  }

  /** The sums over {@link calls}: the same object, which grows. */
  get totals(): ToolTotals {
    return this.#totals;
  }

  /** Those that are over, in the order in which they have ended. */
  get calls(): readonly RunCall[] {
    return this.#calls;
  }

  /** The error of the first call that was one too many. */
  get exceeded(): EdgeError | undefined {
    return this.#exceeded;
  }

  /** The run is over: its open calls are abandoned. */
  over(): void {
    this.#isOver = true;
    for (const end of [...this.#open.values()]) end('abandoned');
  }

  async #call(tool: string, input: unknown, { invocation: parent, signal }: CallbackContext): Promise<unknown> {
    const { limits, tools } = this.#options;
    this.#check('calls', this.#count + 1, limits.calls, tool);
    this.#check('callsInFlight', this.#open.size + this.#streaming + 1, limits.callsInFlight, tool);
    const id = `${parent}-${++this.#count}`;
    const end = this.#begin(id, parent, shownName(tool));
    let isDenied = false;
    const before = async (valid: unknown): Promise<void> => {
      const reason = await this.#denial({ id, parent, tool, input: valid });
      isDenied = reason !== undefined;
      if (reason !== undefined) throw new Error(reason);
      // The run may have ended while somebody thought about it.
      signal.throwIfAborted();
    };
    try {
      const output = await tools.call(tool, input, { signal, callId: id, before });
      end('ok');
      return output;
    } catch (error) {
      end(isDenied ? 'denied' : 'failed', error);
      throw error;
    }
  }

  #check(name: 'calls' | 'callsInFlight', figure: number, allowed: number, tool: string): void {
    if (figure <= allowed) return;
    const error = runLimitError(`call ${shownName(tool)}()`, name, figure, allowed);
    this.#exceeded ??= error;
    throw error;
  }

  #begin(id: string, parent: string, tool: string): (status: RunCall['status'], error?: unknown) => void {
    const beganMs = performance.now();
    const traced = this.#options.trace()?.beginTool({ id, tool });
    const end = (status: RunCall['status'], error?: unknown): void => {
      if (!this.#open.delete(id)) return;
      const call: RunCall = {
        id,
        parent,
        tool,
        status,
        startMs: rounded(beganMs - this.#startedMs),
        durationMs: rounded(performance.now() - beganMs),
        ...(error !== undefined && { error: recorded(error) }),
      };
      this.#calls.push(call);
      this.#totals.toolCalls++;
      this.#totals.toolMs += call.durationMs;
      traced?.end(status, call.error);
      report(this.#options.onCall, call);
    };
    if (!this.#isOver) this.#open.set(id, end);
    return end;
  }

  /** Why the call may not be made; undefined when it may. */
  async #denial(call: PendingCall): Promise<string | undefined> {
    const { approve } = this.#options;
    if (approve === undefined) return undefined;
    const answer: unknown = await approve(call);
    if (answer === 'allow') return undefined;
    if (answer === 'deny') return `The call of ${call.tool}() was not approved`;
    if (isObject(answer) && typeof answer.deny === 'string') return answer.deny;
    throw new EdgeError(
      'EDGE_OPTION_FAILED',
      `Option approve of sandbox() answers ${describe(answer)}, expected 'allow', 'deny' or { deny: reason }`,
    );
  }
}

/** The row whose calls these are, for their accounting. */
export const TOOL_ROW = { ...callbackBinding, tracesItself: true } as const;

/** `onEnd` is called once, when nothing of the body is sent any more. */
function withEnd(body: AsyncIterable<Uint8Array>, onEnd: () => void): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let isOver = false;
  const over = (): void => {
    if (!isOver) onEnd();
    isOver = true;
  };
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const result = await chunks.next();
        if (result.done === true) over();
        return result;
      } catch (error) {
        over();
        throw error;
      }
    },
    async return() {
      over();
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Gives something to a function of the application, whose exceptions are its own. */
export function report<T>(listener: ((value: T) => void) | undefined, value: T): void {
  if (listener === undefined) return;
  try {
    listener(value);
  } catch (error) {
    rethrowOutside(error);
  }
}

/** Three namespaces and a tool of 128 characters each: the code has made up a longer name. */
const MAX_NAME = 515;

function shownName(tool: string): string {
  return tool.length > MAX_NAME ? `${tool.slice(0, MAX_NAME)}…` : tool;
}

function recorded(error: unknown): NonNullable<RunCall['error']> {
  const [name, message] = nameAndMessage(error);
  return { name, message };
}
