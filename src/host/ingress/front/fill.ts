/** One answer of a function that the cache in front of it may keep: what keeps it as it passes, and what others wait for. */
import type { CacheEngine } from '../../../bindings/cache/engine.js';
import { headerOf } from '../../../bindings/cache/header-values.js';
import type { StoringTerms } from '../../../bindings/cache/storing-rules.js';
import type { ServiceBody } from '../../../bindings/service.js';
import { MAX_REPLY_HEADERS } from '../../../isolate/ops/table.js';
import { errorCode } from '../../../quotas/errors.js';
import { detached } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { InvocationContext } from '../../invocation/invocation-context.js';
import type { AnswerBody, ResponseSink } from '../../invocation/response-sink.js';
import { parseResponseHead, type ResponseHead } from '../http-head.js';
import type { NodeSink } from '../node-sink.js';
import { fitsBlock, unsendablePart } from '../response-head.js';
import { TappedBody } from './tapped-body.js';

/** A sink of the listener, which also hears of the start of its invocation. */
export type ListenerSink = ResponseSink & Pick<NodeSink, 'started' | 'refuse'>;

/** `pass`: it may not be kept, or does not fit. `failed`: there was no answer, or not all of it. */
export type FillOutcome = 'kept' | 'pass' | 'failed';

/** The functions of bindings/cache/storing-rules.ts, which is loaded when a listener with a cache is made. */
export interface FrontRules {
  frontTerms(status: number, headers: readonly string[], requestHeaders: readonly string[]): StoringTerms | undefined;
  varyOf(headers: readonly string[]): readonly string[];
}

export interface FillParts {
  readonly engine: CacheEngine;
  readonly context: InvocationContext;
  readonly work: CallWork;
  readonly rules: FrontRules;
  readonly cache: string;
  readonly url: string;
  readonly requestHeaders: readonly string[];
  readonly epoch: number;
  readonly warn: (error: unknown) => void;
}

/** Headers that a hit adds. */
const ADDED_HEADERS = 3;
const STORED = '\ncache-status\nEdgeHost; fwd=uri-miss; stored';

export class Fill {
  readonly outcome: Promise<FillOutcome>;
  /** The status of the answer; 0 before there is one. */
  status = 0;
  readonly #parts: FillParts;
  #resolve: (outcome: FillOutcome) => void = () => {};
  #body: TappedBody | undefined;
  #hasAnswer = false;

  constructor(parts: FillParts) {
    this.#parts = parts;
    this.outcome = new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  /** The same sink, with an eye on what it gets. */
  around(inner: ListenerSink): ListenerSink {
    return new FillSink(inner, this);
  }

  /** No answer will come, or not all of it. Does nothing when all of it is there. */
  fail(reason: string): void {
    this.#body?.fail(reason);
    if (!this.#hasAnswer) this.#resolve('failed');
  }

  /** @returns what the client's sink is to get in its place */
  answer(
    status: number,
    headText: string,
    body: Buffer,
    isComplete: boolean,
    source: AnswerBody,
    resume: () => void,
  ): { readonly head: string; readonly source: AnswerBody } {
    this.#hasAnswer = true;
    this.status = status;
    const head = readHead(headText);
    const terms = head === undefined ? undefined : this.#terms(status, head);
    if (head === undefined || terms === undefined) {
      this.#resolve('pass');
      return { head: headText, source };
    }
    if (isComplete) {
      // A copy: the view is valid during this call.
      detached(this.#store(status, head, terms, new Uint8Array(body)));
      return { head: headText + STORED, source };
    }
    this.#body = new TappedBody(source, this.#parts.context.share.bytes, resume);
    detached(this.#store(status, head, terms, this.#body));
    return { head: headText + STORED, source: this.#body };
  }

  #terms(status: number, { statusText, headers }: ResponseHead): StoringTerms | undefined {
    const { context, rules, requestHeaders } = this.#parts;
    // A response that cannot be sent once cannot be sent again.
    if (unsendablePart(statusText, headers) !== undefined) return undefined;
    if (headers.length > 2 * (MAX_REPLY_HEADERS - ADDED_HEADERS)) return undefined;
    // Clients of either protocol get the stored response.
    if (!fitsBlock(headers)) return undefined;
    const terms = rules.frontTerms(status, headers, requestHeaders);
    return terms !== undefined && lengthOf(headers) <= context.limits.cacheFileBytes ? terms : undefined;
  }

  async #store(
    status: number,
    { statusText, headers }: ResponseHead,
    terms: StoringTerms,
    body: ServiceBody,
  ): Promise<void> {
    const { engine, context, work, rules, cache, url, requestHeaders, epoch, warn } = this.#parts;
    const { cacheFileBytes, cacheBytes, zonePlan } = context.limits;
    const names = rules.varyOf(terms.headers);
    const vary = names.map(name => [name, headerOf(requestHeaders, name) ?? ''] as const);
    try {
      const isKept = await engine.put(
        { cache, url, status, statusText, ...terms, ...(vary.length > 0 && { vary }) },
        body,
        {
          bodyBytes: cacheFileBytes,
          limit: 'cacheFileBytes',
          plan: zonePlan,
          cacheBytes,
          epoch,
          expectedBytes: body instanceof Uint8Array ? body.byteLength : lengthOf(headers),
        },
        work,
      );
      this.#resolve(isKept ? 'kept' : 'pass');
    } catch (error) {
      const code = errorCode(error);
      if (code !== undefined && code !== 'EDGE_LIMIT_EXCEEDED') warn(error);
      // Errors of the storage have codes: what could not be kept once will not be for those who wait either.
      this.#resolve(code === undefined ? 'failed' : 'pass');
    }
  }
}

class FillSink implements ListenerSink {
  readonly #inner: ListenerSink;
  readonly #fill: Fill;

  constructor(inner: ListenerSink, fill: Fill) {
    this.#inner = inner;
    this.#fill = fill;
  }

  started(...args: Parameters<ListenerSink['started']>): void {
    this.#inner.started(...args);
  }

  refuse(error: unknown): void {
    this.#fill.fail('The function could not be started');
    this.#inner.refuse(error);
  }

  respond(status: number, head: string, body: Buffer, isComplete: boolean, exchange: AnswerBody): void {
    const kept = this.#fill.answer(status, head, body, isComplete, exchange, () => this.#inner.bodyReady());
    this.#inner.respond(status, kept.head, body, isComplete, kept.source);
  }

  bodyReady(): void {
    this.#inner.bodyReady();
  }

  fail(error: Parameters<ResponseSink['fail']>[0]): void {
    this.#fill.fail(error.message);
    this.#inner.fail(error);
  }
}

/** Undefined for one that cannot be read: the sink reports its error. */
function readHead(text: string): ResponseHead | undefined {
  try {
    return parseResponseHead(text);
  } catch {
    return undefined;
  }
}

/** The length of the body that a response declares; 0 without a declaration. */
function lengthOf(headers: readonly string[]): number {
  const length = Number(headerOf(headers, 'content-length') ?? 0);
  return Number.isFinite(length) ? length : 0;
}
