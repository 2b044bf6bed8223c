/**
 * The guest's side of module loading: what the synthetic module "edgehost:loader" exports to the trampolines that the host realm writes
 * around the deployment's modules. The host cannot await an evaluation (rule R9), so the body of a trampoline reports it.
 */
import { Ev, Op } from '../isolate/ops/table.ts';
import { onEvent, opBytes, opNumber } from './bridge.ts';
import { MapCtor, mapDelete, mapGet, mapSet, PromiseCtor, promiseThen } from './primordials.ts';

interface Importing {
  resolve(namespace: unknown): void;
  reject(reason: unknown): void;
}

const importing = new MapCtor<number, Importing>();
let onMain: (namespace: object | undefined) => void;
let onMainFailed: (error: unknown) => void;

/** Sets the callbacks for the main module: it has been evaluated, or has failed. */
export function onMainModule(evaluated: typeof onMain, failed: typeof onMainFailed): void {
  onMain = evaluated;
  onMainFailed = failed;
}

/** A trampoline: the module with this import id has been evaluated. */
export function imported(id: number, namespace: object): void {
  if (id === 0) {
    onMain(namespace);
    return;
  }
  const entry = mapGet(importing, id);
  mapDelete(importing, id);
  // A namespace with an export named `then` would be taken for a thenable; that is what import() does too.
  entry?.resolve(namespace);
}

/** The replacement of the keyword in import(): it returns the import() of the module that it is written in. */
export function dynamicImport(referrer: string): (specifier: unknown) => Promise<unknown> {
  return specifier =>
    new PromiseCtor((resolve, reject) => {
      const id = opNumber(Op.Import, referrer, `${specifier}`);
      mapSet(importing, id, { resolve, reject });
    });
}

export function moduleBytes(index: number): ArrayBuffer {
  return opBytes(Op.ModuleBytes, index).buffer as ArrayBuffer; // takeBytes makes it in a buffer of its own
}

onEvent(Ev.Evaluated, () => onMain(undefined));
onEvent(Ev.EvaluationFailed, failed);
onEvent(Ev.Evaluating, (id: number, evaluation: Promise<void>) => {
  promiseThen(evaluation, undefined, error => failed(id, error));
});

function failed(id: number, error: unknown): void {
  if (id === 0) {
    onMainFailed(error);
    return;
  }
  const entry = mapGet(importing, id);
  mapDelete(importing, id);
  entry?.reject(error);
}
