/** The calls of one run: each is counted, approved and recorded here, outside of the cell. */

import type { ClientBodies } from '../../bindings/bodies/given-bodies.js';
import { type CallbackShare, callbackBinding, gateOf } from '../../bindings/callbacks/callback-binding.js';
import { answering, nameAndMessage } from '../../bindings/callbacks/callback-service.js';
import type { ApplicationCallback, CallbackContext } from '../../bindings/callbacks/types.js';
import type { Service, ServiceCall, ServiceReply } from '../../bindings/service.js';
import { cutText } from '../../quotas/cut-text.js';
import { EdgeError } from '../../quotas/errors.js';
import { rethrowOutside } from '../../quotas/guarded.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { ToolTotals } from '../../usage/function-usage.js';
import { rounded } from '../invocation/reports/rounded.js';
import type { InvocationTrace } from '../telemetry/trace.js';
import type { BegunCall, RunRecord } from './paused/run-record.js';
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
  /** Records the calls of a run that may be paused. */
  readonly record: RunRecord | undefined;
  /** Counts memory of the host that is held until the run is over. */
  readonly hold: (bytes: number) => void;
}

/** A record of a call in the result: 170 bytes and its texts; while it is open, 250 (measured on Node 20.20). */
const CALL_BYTES = 256;
/** The error of a call, without its message. */
const ERROR_BYTES = 80;

export class ToolCalls {
  readonly service: Service;
  readonly #options: ToolCallsOptions;
  readonly #calls: RunCall[] = [];
  readonly #open = new Map<string, (status: 'abandoned') => void>();
  readonly #startedMs = performance.now();
  readonly #totals = { toolCalls: 0, toolMs: 0 };
  #count = 0;
  #begun: BegunCall | undefined;
  /** Answers whose streams are not at their end. */
  #streaming = 0;
  #exceeded: EdgeError | undefined;
  #isOver = false;

  constructor(options: ToolCallsOptions) {
    this.#options = options;
    const { account, name, share, given, limits } = options;
    // It is called before the call waits for anything, so a record can say which one it begins.
    const find = (tool: string): ApplicationCallback => {
      const begun = this.#begun;
      return (input, context) => this.#call(tool, input, context, begun);
    };
    const answer = answering(find, undefined, {
      account,
      function: name,
      props: {},
      // The run ends before.
      timeoutMs: Math.min(limits.wallMs, MAX_TIMER_MS),
      given,
      ...gateOf(share, account),
    });
    const make = async (call: ServiceCall, begun?: BegunCall): Promise<ServiceReply> => {
      this.#begun = begun;
      const answering = answer(call);
      this.#begun = undefined;
      const reply = await answering;
      const { body } = reply;
      if (body === undefined || body === null || body instanceof Uint8Array) return reply;
      this.#streaming++;
      return { ...reply, body: withEnd(body, () => this.#streaming--) };
    };
    this.service = options.record === undefined ? make : options.record.service(make);
    this.#count = options.record?.earlierCalls ?? 0;
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

  async #call(
    tool: string,
    input: unknown,
    { invocation: parent, signal }: CallbackContext,
    begun: BegunCall | undefined,
  ): Promise<unknown> {
    const { limits, record, tools } = this.#options;
    this.#check('calls', this.#count + 1, limits.calls, tool);
    this.#check('callsInFlight', this.#open.size + this.#streaming + 1, limits.callsInFlight, tool);
    this.#count++;
    if (begun !== undefined) record?.count(begun);
    const id = begun?.id ?? `${parent}-${this.#count}`;
    const end = this.#begin(id, parent, shownName(tool));
    let isDenied = false;
    const before = async (valid: unknown): Promise<void> => {
      const call = { id, parent, tool, input: valid };
      const approval = begun?.isApproved === true ? 'allow' : await this.#approval(call);
      if (approval === 'pause') {
        if (record === undefined || begun === undefined) throw notPausable(tool);
        await record.pause(begun, signal);
      }
      isDenied = approval !== 'allow';
      if (approval !== 'allow') throw new Error(reasonOf(approval, tool));
      if (begun !== undefined) await record?.enter(begun, signal);
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
    this.#options.hold(CALL_BYTES + 2 * tool.length);
    const beganMs = performance.now();
    const traced = this.#options.trace()?.beginTool({ id, tool });
    const end = (status: RunCall['status'], error?: unknown): void => {
      if (!this.#open.delete(id)) return;
      const failure = error === undefined ? undefined : recorded(error);
      if (failure !== undefined) this.#options.hold(ERROR_BYTES + 2 * (failure.name.length + failure.message.length));
      const call: RunCall = {
        id,
        parent,
        tool,
        status,
        startMs: rounded(beganMs - this.#startedMs),
        durationMs: rounded(performance.now() - beganMs),
        ...(failure !== undefined && { error: failure }),
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

  async #approval(call: PendingCall): Promise<Approval> {
    const { approve } = this.#options;
    if (approve === undefined) return 'allow';
    const answer: unknown = await approve(call);
    if (answer === 'allow' || answer === 'deny' || answer === 'pause') return answer;
    if (isObject(answer) && typeof answer.deny === 'string') return { deny: answer.deny };
    throw new EdgeError(
      'EDGE_OPTION_FAILED',
      `Option approve of sandbox() answers ${describe(answer)}, expected 'allow', 'deny', 'pause' or { deny: reason }`,
    );
  }
}

function reasonOf(approval: Exclude<Approval, 'allow'>, tool: string): string {
  return typeof approval === 'object' ? approval.deny : `The call of ${tool}() was not approved`;
}

function notPausable(tool: string): EdgeError {
  return new EdgeError(
    'EDGE_NOT_SUPPORTED',
    `Cannot pause the run at tools.${tool}(): the realm of a session cannot be restored; answer 'allow' or 'deny', or use run() of the sandbox`,
  );
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
  return tool.length > MAX_NAME ? `${cutText(tool, MAX_NAME)}…` : tool;
}

function recorded(error: unknown): NonNullable<RunCall['error']> {
  const [name, message] = nameAndMessage(error);
  return { name, message };
}
