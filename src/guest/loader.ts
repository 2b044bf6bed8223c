/**
 * The guest's side of module loading: what the synthetic module "edgehost:loader" exports to the trampolines that the host realm writes
 * around the deployment's modules. The host cannot await an evaluation (rule R9), so the body of a trampoline reports it.
 */
import { Ev, Op } from '../isolate/ops/table.ts';
import { onEvent, opBytes, opNumber } from './bridge.ts';
import {
  ErrorCtor,
  MapCtor,
  mapDelete,
  mapGet,
  mapSet,
  objectKeys,
  PromiseCtor,
  promiseThen,
  SyntaxErrorCtor,
  TypeErrorCtor,
} from './primordials.ts';
import { isObject } from './web/base/idl.ts';

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
export function dynamicImport(referrer: string): (specifier: unknown, options?: unknown) => Promise<unknown> {
  return (specifier, options) =>
    new PromiseCtor((resolve, reject) => {
      const id = opNumber(Op.Import, referrer, `${specifier}`, typeIn(options));
      mapSet(importing, id, { resolve, reject });
    });
}

/** Evaluates the main module of a run, in its turns. In an object: a namespace with an export named `then` would be taken for a promise. */
export function importMain(): Promise<{ readonly namespace: object }> {
  return new PromiseCtor((resolve, reject) => {
    const id = opNumber(Op.Import, '', '');
    mapSet(importing, id, {
      resolve: namespace => {
        // A module that was not evaluated comes as a promise of its error.
        if (namespace instanceof PromiseCtor) resolve(namespace as Promise<never>);
        else resolve({ __proto__: null, namespace } as never); // with what the type says
      },
      reject,
    });
  });
}

/** The import attribute `type` in the options of import(), see https://tc39.es/ecma262/#sec-evaluate-import-call. */
function typeIn(options: unknown): string | undefined {
  if (options === undefined) return undefined;
  if (!isObject(options)) throw new TypeErrorCtor('The options of a dynamic import are not an object');
  const attributes = (options as { with?: unknown }).with; // read as unknown and checked
  if (attributes === undefined) return undefined;
  if (!isObject(attributes)) throw new TypeErrorCtor('The option "with" of a dynamic import is not an object');
  const keys = objectKeys(attributes);
  let type: string | undefined;
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at] as string; // in the bounds of the array
    const value = (attributes as Record<string, unknown>)[key]; // every object can be read from
    if (typeof value !== 'string') throw new TypeErrorCtor(`The import attribute "${key}" is not a string`);
    if (key !== 'type') throw new TypeErrorCtor(`There is no import attribute "${key}", only "type"`);
    type = value;
  }
  return type;
}

/** The content of a data module: as it is without an import attribute, or as its type `bytes`. */
export function moduleBytes(index: number, isArray: boolean): ArrayBuffer | Uint8Array {
  const bytes = opBytes(Op.ModuleBytes, index);
  return isArray ? bytes : (bytes.buffer as ArrayBuffer); // takeBytes makes it in a buffer of its own
}

onEvent(Ev.Evaluated, () => onMain(undefined));
onEvent(Ev.EvaluationFailed, failed);
onEvent(Ev.ImportFailed, (id: number, name: string, message: string) => {
  const entry = mapGet(importing, id);
  mapDelete(importing, id);
  entry?.resolve(failedImport(name, message));
});
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

/** As rejection() in rejection.ts, which asks the error for its class: function code may have replaced the prototypes of these classes. */
async function failedImport(name: string, message: string): Promise<never> {
  await undefined;
  await undefined;
  if (name === 'SyntaxError') throw new SyntaxErrorCtor(message);
  throw name === 'TypeError' ? new TypeErrorCtor(message) : new ErrorCtor(message);
}
