/** Modules of the guest realm in a realm of their own, without the rest of the guest: the test is the host at the other end of the bridge. */
import vm from 'node:vm';
import { type Ev, FAILED, Op } from '../../src/isolate/ops/table.js';

type Value = undefined | boolean | number | string | Uint8Array;
type Result = number | string | undefined;

/** An op as the host gets it: its name, and its arguments without undefined ones at the end. Bytes are copies. */
export type SeenOp = readonly [name: string, ...args: Value[]];

/** What an op answers. What it throws as an OpFailure is an error of the op in the guest. */
export type AnswerOp = (a: Value, b: Value, c: Value, d: Value) => Result;

/** "Name\nmessage\ncode". */
export class OpFailure extends Error {}

/** The parts of src/guest/bridge.ts that a test is at the other end of. */
interface Bridge {
  connect(hostCall: (op: Op, a: Value, b: Value, c: Value, d: Value) => Result): void;
  enter(ev: Ev, ...args: unknown[]): void;
}

export interface GuestModules<M> {
  /** What the modules export. */
  readonly modules: M;
  /** All ops since the last look at them, but those about stacks. */
  takeOps(): SeenOp[];
  /** Replaces the answer to an op, which is undefined unless given. */
  answer(op: Op, with_: AnswerOp): void;
  enter(ev: Ev, ...args: unknown[]): void;
  /** Runs an expression of strict code in the realm. */
  evaluate(code: string): unknown;
}

const root = new URL('../../../', import.meta.url);
const scripts: { guestModules(names: readonly string[]): Promise<string> } = await import(
  new URL('.scripts/guest-bundle.mjs', root).href
);

/** Bundles modules once; answers what makes a new realm with them. `M` has a property for each name, with what the module exports. */
export async function guestModules<M>(...names: (keyof M & string)[]): Promise<() => GuestModules<M>> {
  const script = new vm.Script(await scripts.guestModules(['bridge', ...names]), { filename: 'edgehost:guest' });
  return () => newRealm<M>(script);
}

function newRealm<M>(script: vm.Script): GuestModules<M> {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
  // The script exports the modules that were asked for; each test says what of them it uses.
  const modules = script.runInContext(context) as M & { readonly bridge: Bridge };
  const seen: SeenOp[] = [];
  const answers = new Map<Op, AnswerOp>();
  let lastError = '';
  answers.set(Op.LastError, () => lastError);
  modules.bridge.connect((op, a, b, c, d) => {
    if (op !== Op.StackCapture && op !== Op.StackText && op !== Op.LastError) seen.push(record(op, [a, b, c, d]));
    try {
      return answers.get(op)?.(a, b, c, d);
    } catch (error) {
      if (!(error instanceof OpFailure)) throw error;
      lastError = error.message;
      return FAILED;
    }
  });
  return {
    modules,
    takeOps: () => seen.splice(0),
    answer: (op, with_) => answers.set(op, with_),
    enter: (ev, ...args) => modules.bridge.enter(ev, ...args),
    evaluate: code => vm.runInContext(`'use strict'; (${code})`, context),
  };
}

function record(op: Op, args: Value[]): SeenOp {
  while (args.length > 0 && args.at(-1) === undefined) args.pop();
  return [Op[op], ...args.map(value => (ArrayBuffer.isView(value) ? Buffer.from(value) : value))];
}

/** Lets everything run that waits for nothing but promises. */
export async function settled(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve));
}
