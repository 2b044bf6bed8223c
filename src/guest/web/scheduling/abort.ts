/** AbortController and AbortSignal. @see https://dom.spec.whatwg.org/#aborting-ongoing-activities */
import {
  arrayIndexOf,
  arrayPush,
  arraySplice,
  SetCtor,
  setAdd,
  setDelete,
  TypeErrorCtor,
  WeakRefCtor,
  weakRefDeref,
} from '../../primordials.ts';
import { DOMException } from '../base/dom-exception.ts';
import { defineInterface, requireArguments, toEnforcedInteger, toSequence } from '../base/idl.ts';
import { createTrustedEvent } from '../events/event.ts';
import {
  defineHandler,
  dispatch,
  EventTarget,
  hasListener,
  setSignalHooks,
  targetState,
} from '../events/event-target.ts';
import { startTimer } from './timers.ts';

interface SignalState {
  isAborted: boolean;
  reason: unknown;
  algorithms: (() => void)[];
  isDependent: boolean;
  /** The signals that a dependent signal follows. */
  sources: SignalState[];
  /** Signals that follow this one. The references are weak, or a long-lived signal would keep every short-lived one that follows it. */
  dependents: WeakRef<AbortSignal>[];
  /** Dependents that have listeners or algorithms: they must stay alive. */
  readonly observedDependents: Set<AbortSignal>;
}

let isConstructing = false;
let signalState: (signal: AbortSignal) => SignalState;

/** Whether the value is an AbortSignal of this realm. */
export let isAbortSignal: (value: unknown) => value is AbortSignal;

export class AbortSignal extends EventTarget {
  readonly #state: SignalState = {
    isAborted: false,
    reason: undefined,
    algorithms: [],
    isDependent: false,
    sources: [],
    dependents: [],
    observedDependents: new SetCtor(),
  };

  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
    super();
  }

  static abort(reason: unknown = undefined): AbortSignal {
    const signal = createAbortSignal();
    const state = signal.#state;
    state.isAborted = true;
    state.reason = reason === undefined ? createAbortError() : reason;
    return signal;
  }

  static timeout(milliseconds: unknown): AbortSignal {
    requireArguments(arguments.length, 1, 'AbortSignal.timeout');
    const delay = toEnforcedInteger(milliseconds, 0, Number.MAX_SAFE_INTEGER, 'The timeout');
    const signal = createAbortSignal();
    startTimer(delay, () => {
      abortSignal(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    });
    return signal;
  }

  static any(signals: unknown): AbortSignal {
    requireArguments(arguments.length, 1, 'AbortSignal.any');
    const sources = toSequence(
      signals,
      item => {
        if (!isAbortSignal(item)) throw new TypeErrorCtor('An item of the sequence is not an AbortSignal');
        return item;
      },
      'The list of signals',
    );
    return createDependentSignal(sources);
  }

  get aborted(): boolean {
    return this.#state.isAborted;
  }

  get reason(): unknown {
    return this.#state.reason;
  }

  throwIfAborted(): void {
    const { isAborted, reason } = this.#state;
    if (isAborted) throw reason;
  }

  static {
    signalState = signal => signal.#state;
    isAbortSignal = (value): value is AbortSignal => typeof value === 'object' && value !== null && #state in value;
  }
}

defineHandler(AbortSignal.prototype, 'abort');
defineInterface(AbortSignal);

export class AbortController {
  readonly #signal = createAbortSignal();

  get signal(): AbortSignal {
    return this.#signal;
  }

  abort(reason: unknown = undefined): void {
    abortSignal(this.#signal, reason);
  }
}

defineInterface(AbortController);

export function createAbortSignal(): AbortSignal {
  isConstructing = true;
  try {
    return new AbortSignal();
  } finally {
    isConstructing = false;
  }
}

/** A signal that aborts with the first of its sources. @see https://dom.spec.whatwg.org/#create-a-dependent-abort-signal */
export function createDependentSignal(sources: readonly AbortSignal[]): AbortSignal {
  const signal = createAbortSignal();
  const state = signalState(signal);
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i];
    if (source === undefined || !signalState(source).isAborted) continue;
    state.isAborted = true;
    state.reason = signalState(source).reason;
    return signal;
  }
  state.isDependent = true;
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i];
    if (source === undefined) continue;
    const sourceState = signalState(source);
    if (!sourceState.isDependent) {
      follow(signal, sourceState);
      continue;
    }
    for (let j = 0; j < sourceState.sources.length; j++) {
      const root = sourceState.sources[j];
      if (root !== undefined) follow(signal, root);
    }
  }
  targetState(signal).onChange = () => updateObservation(signal);
  return signal;
}

function follow(signal: AbortSignal, source: SignalState): void {
  const state = signalState(signal);
  if (arrayIndexOf(state.sources, source) >= 0) return;
  arrayPush(state.sources, source);
  const { dependents } = source;
  for (let i = dependents.length - 1; i >= 0; i--) {
    const reference = dependents[i];
    if (reference !== undefined && weakRefDeref(reference) === undefined) arraySplice(dependents, i, 1);
  }
  arrayPush(dependents, new WeakRefCtor(signal));
}

/** Has the sources hold the signal while an abort of it would be noticed. */
function updateObservation(signal: AbortSignal): void {
  const { sources, algorithms } = signalState(signal);
  const isObserved = algorithms.length > 0 || hasListener(targetState(signal), 'abort');
  for (let i = 0; i < sources.length; i++) {
    const source = sources[i];
    if (source === undefined) continue;
    if (isObserved) setAdd(source.observedDependents, signal);
    else setDelete(source.observedDependents, signal);
  }
}

/** @see https://dom.spec.whatwg.org/#abortsignal-signal-abort */
export function abortSignal(signal: AbortSignal, reason?: unknown): void {
  const state = signalState(signal);
  if (state.isAborted) return;
  state.isAborted = true;
  state.reason = reason === undefined ? createAbortError() : reason;
  const toAbort: AbortSignal[] = [];
  for (let i = 0; i < state.dependents.length; i++) {
    const reference = state.dependents[i];
    const dependent = reference && weakRefDeref(reference);
    if (dependent === undefined) continue;
    const dependentState = signalState(dependent);
    if (dependentState.isAborted) continue;
    dependentState.isAborted = true;
    dependentState.reason = state.reason;
    arrayPush(toAbort, dependent);
  }
  state.dependents = [];
  runAbortSteps(signal);
  for (let i = 0; i < toAbort.length; i++) {
    const dependent = toAbort[i];
    if (dependent !== undefined) runAbortSteps(dependent);
  }
}

function runAbortSteps(signal: AbortSignal): void {
  const state = signalState(signal);
  const { algorithms } = state;
  state.algorithms = [];
  for (let i = 0; i < algorithms.length; i++) algorithms[i]?.();
  dispatch(targetState(signal), createTrustedEvent('abort'));
  updateObservation(signal);
}

/** Runs `algorithm` once when the signal aborts; not at all when it has. */
export function addAbortAlgorithm(signal: AbortSignal, algorithm: () => void): void {
  const state = signalState(signal);
  if (state.isAborted) return;
  arrayPush(state.algorithms, algorithm);
  if (state.isDependent) updateObservation(signal);
}

export function removeAbortAlgorithm(signal: AbortSignal, algorithm: () => void): void {
  const state = signalState(signal);
  const index = arrayIndexOf(state.algorithms, algorithm);
  if (index >= 0) arraySplice(state.algorithms, index, 1);
  if (state.isDependent) updateObservation(signal);
}

function createAbortError(): DOMException {
  return new DOMException('This operation was aborted', 'AbortError');
}

setSignalHooks({
  isSignal: isAbortSignal,
  isAborted: signal => isAbortSignal(signal) && signalState(signal).isAborted,
  onAbort: (signal, algorithm) => {
    if (isAbortSignal(signal)) addAbortAlgorithm(signal, algorithm);
  },
});
