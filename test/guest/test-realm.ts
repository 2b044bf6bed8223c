/** A guest realm without an isolate around it: the test is the host, keeps the time and fires the timers. */
import vm from 'node:vm';
import { createHostCall, type HostCall } from '../../src/isolate/bridge.js';
import { HeldWork } from '../../src/isolate/held-work.js';
import { NodeModules } from '../../src/isolate/imports/node-bundle.js';
import { OpError } from '../../src/isolate/ops/arguments.js';
import { basicOps } from '../../src/isolate/ops/basics.js';
import { processOps } from '../../src/isolate/ops/node/process.js';
import type { OpContext } from '../../src/isolate/ops/op-set.js';
import { platformOps } from '../../src/isolate/ops/platform.js';
import { Ev } from '../../src/isolate/ops/table.js';
import { Timers } from '../../src/isolate/ops/timers.js';
import { createRealm, type Realm } from '../../src/isolate/realm.js';

export interface Log {
  readonly level: number;
  readonly text: string;
}

export class TestRealm {
  readonly logs: Log[] = [];
  readonly realm: Realm;
  readonly hostCall: HostCall;
  /** The invocation that code runs for; 0 is the global scope. */
  invocation = 2;
  #left: Uint8Array | undefined;
  #nextOp = 1;
  #waiting: { text: string; resolve(): void } | undefined;
  readonly timers: Timers;

  constructor() {
    const context: OpContext = {
      currentInvocation: () => this.invocation,
      leaveBytes: bytes => {
        this.#left = bytes;
        return bytes.length;
      },
      begin: work => this.#begin(work),
      charge: () => {},
      settle: () => {},
      hold: () => {},
      reserve: () => {},
      room: () => Number.MAX_SAFE_INTEGER,
      placeOf: place => place,
    };
    this.timers = new Timers({
      fire: (_invocation, id) => this.enter(Ev.Timer, id),
      drop: id => this.enter(Ev.TimerDropped, id),
      due: id => this.enter(Ev.TimerDue, id),
      ask: () => {},
    });
    const basics = basicOps({
      ...context,
      log: (level, text) => this.#log(level, text),
      takeBytes: () => this.#left,
    });
    const ticks = {
      isInTurn: true,
      set hasTicks(_: boolean) {
        queueMicrotask(() => enter(Ev.Ticks, 1));
      },
    };
    const enter = this.enter.bind(this);
    this.hostCall = createHostCall([
      basics,
      this.timers.ops(context, new HeldWork()),
      processOps(() => ticks),
      ...platformOps(context),
    ]);
    this.realm = createRealm(this.hostCall);
  }

  /** The function of the realm has Node's modules and their global names. */
  installNode(): void {
    const flags = ['nodejs_compat', 'nodejs_compat_v2', 'nodejs_compat_populate_process_env'];
    this.enter(Ev.Setup, JSON.stringify({ name: 'node', env: { A: 'a' }, bindings: [], flags }));
    new NodeModules(this.realm).install();
  }

  /** Ends the invocation, and its timers with it. */
  close(): void {
    this.timers.release(this.invocation);
  }

  enter(ev: Ev, a?: unknown, b?: unknown, c?: unknown, d?: unknown): void {
    Reflect.apply(this.realm.enter, undefined, [ev, a, b, c, d]);
  }

  /** Runs the body of a strict function; answers what it returns, by way of JSON. */
  run(body: string): unknown {
    const text: unknown = this.evaluate(`JSON.stringify((() => { ${body} })())`);
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  }

  /** Runs the body of a strict async function and waits for its end. */
  async runAsync(body: string): Promise<unknown> {
    const done = new Promise<string>(resolve => {
      this.#waiting = {
        text: '',
        resolve() {
          resolve(this.text);
        },
      };
    });
    this.evaluate(`(async () => { ${body} })().then(
      value => console.debug('done ' + JSON.stringify({ value })),
      error => console.debug('done ' + JSON.stringify({ error: String(error) })));`);
    const { value, error } = JSON.parse(await done);
    if (error !== undefined) throw new Error(error);
    return value;
  }

  /** A guest value as it is. For tests of the wall alone. */
  evaluate(code: string): unknown {
    return vm.runInContext(`'use strict'; ${code}`, this.realm.context, {
      filename: 'function.js',
      importModuleDynamically: undefined,
    });
  }

  #log(level: number, text: string): void {
    if (level === 0 && text.startsWith('done ') && this.#waiting !== undefined) {
      this.#waiting.text = text.slice('done '.length);
      this.#waiting.resolve();
    } else this.logs.push({ level, text });
  }

  #begin(work: Promise<number | string | undefined | Uint8Array>): number {
    const id = this.#nextOp++;
    work.then(
      value => {
        if (value instanceof Uint8Array) {
          this.#left = value;
          this.enter(Ev.Settle, id, 1, undefined, value.length);
        } else this.enter(Ev.Settle, id, 1, value, -1);
      },
      (error: unknown) => {
        const text = error instanceof OpError ? `${error.name}\n${error.message}\n${error.code}` : 'Error\nfailed\n';
        this.enter(Ev.Settle, id, 0, text, -1);
      },
    );
    return id;
  }
}
