/**
 * What happens to each rule of docs/security.md when its code is taken out: which test then fails. Rules that forbid something are broken
 * by writing it. Checked by `npm run ablate`, and printed in docs/security.md.
 */
import process from 'node:process';

export interface Ablation {
  readonly rule: string;
  /** What is taken out, as the end of the sentence "a test fails without ...". */
  readonly without: string;
  /** Where it is kept: a file of this package. */
  readonly file: string;
  /** Its code, which is once in the file, and what is put in its place. */
  readonly find: string;
  readonly replace: string;
  /** The file of the test that fails then, and its title. */
  readonly test: string;
  readonly title: string;
  /** The first and the last version of Node in which it makes a difference. */
  readonly fromNode?: number;
  readonly toNode?: number;
}

const [major = 20] = process.versions.node.split('.').map(Number);

/** Whether this system and this Node have what is taken out. */
export function isToBeHad({ fromNode = 0, toNode = Number.POSITIVE_INFINITY }: Ablation): boolean {
  return major >= fromNode && major <= toNode;
}

const ATTACKS = 'test/attacks/attacks.test.ts';
const RULES = 'test/attacks/rules.test.ts';
const LAYERS = 'test/attacks/layers.test.ts';
const WALLS = 'src/pool/sandbox/walls.ts';
const ROOM = 'src/pool/sandbox/room.ts';
const OWN_SANDBOX = 'the process of a cell has the sandbox that host.health() tells of';
const HOSTILE_CELL = 'test/attacks/hostile-cell.test.ts';
const EGRESS = 'src/bindings/egress/egress.ts';
const EGRESS_RULES = 'test/bindings/egress/egress-rules-attacks.test.ts';
const GUEST_HARDEN = 'test/guest/harden.test.ts';
const THREAD_HARDEN = 'test/isolate/harden-thread.test.ts';

const attackTitle = (tries: string, isolation: 'process' | 'thread' = 'process'): string =>
  `a function that tries ${tries} is contained (${isolation})`;

export const ABLATIONS: readonly Ablation[] = [
  {
    rule: 'R1',
    without: 'the ordinary global',
    file: 'src/isolate/realm.ts',
    find: 'vm.constants.DONT_CONTEXTIFY',
    replace: '{}',
    test: RULES,
    title: 'the guest realm is a context that is its own global object (R1)',
  },
  {
    rule: 'R1',
    without: 'the switch of code generation',
    file: 'src/isolate/realm.ts',
    find: '{ strings: false, wasm: false }',
    replace: '{ strings: true, wasm: true }',
    test: ATTACKS,
    title: attackTitle('to compile text', 'thread'),
  },
  {
    rule: 'R1',
    without: 'the refusal of a second function',
    file: 'src/isolate/isolate.ts',
    find: 'this.#isLoading = true;',
    replace: '',
    test: 'test/isolate/isolate.test.ts',
    title: 'an isolate takes one function in its life (R1)',
  },
  {
    rule: 'R2',
    without: 'strictness of classic scripts',
    file: 'src/isolate/modules.ts',
    find: `"'use strict';"`,
    replace: `''`,
    test: ATTACKS,
    title: attackTitle('to be sloppy in a classic script'),
  },
  {
    rule: 'R3',
    without: 'the removal of globals',
    file: 'src/guest/harden.ts',
    find: 'deleteProperty(globalThis, name);',
    replace: '',
    test: GUEST_HARDEN,
    title: 'globalThis has no SharedArrayBuffer',
  },
  {
    rule: 'R4',
    without: 'the lock of Error.stackTraceLimit where the host realm would write stacks',
    file: 'src/guest/errors.ts',
    find: 'value: hasNativeStacks ? THROWN_FRAMES : undefined,',
    replace: 'value: THROWN_FRAMES,',
    test: GUEST_HARDEN,
    title: 'Error.stackTraceLimit of the engine cannot be set by any constructor in reach',
  },
  {
    rule: 'R4',
    without: 'the cut of foreign frames from stacks',
    file: 'src/isolate/stacks/neutral-realm.ts',
    find: `if (apply(exec, foreign, [file]) !== null) return '';`,
    replace: '',
    test: ATTACKS,
    title: attackTitle('to read paths of the host from stacks'),
  },
  {
    rule: 'R4',
    without: 'the formatter of a realm of its own',
    file: 'src/isolate/stacks/stack-formatter.ts',
    find: 'internals.setFormatter(createFormatter());',
    replace: '',
    test: ATTACKS,
    title: attackTitle('to read the stack of an error of the engine with every amount of stack left'),
  },
  {
    rule: 'R4',
    without: 'the prototypes of errors that lead to nothing',
    file: 'src/isolate/stacks/neutral-realm.ts',
    find: 'setPrototypeOf(prototype, null);',
    replace: '',
    test: ATTACKS,
    title: attackTitle('to read the stack of an error of the engine with every amount of stack left'),
  },
  {
    rule: 'R5',
    without: 'the catch around the bridge',
    file: 'src/guest/bridge.ts',
    find: `  } catch {
    // The host function throws nothing else, and \`lastError()\` belongs to another op.
    throw exhausted();
  }`,
    replace: `  } finally {
  }`,
    test: ATTACKS,
    title: attackTitle('to call the bridge with every amount of stack left'),
  },
  {
    rule: 'R6',
    without: 'the check of what ops answer',
    file: 'src/isolate/bridge.ts',
    find: `type === 'number' || type === 'string' || type === 'undefined' ? result : FAILED`,
    replace: 'result',
    test: RULES,
    title: 'the bridge answers with nothing but numbers, strings and undefined (R6)',
  },
  {
    rule: 'R6',
    without: 'the catch around ops',
    file: 'src/isolate/bridge.ts',
    find: `    } catch (error) {
      lastError =`,
    replace: `    } catch (error) {
      if (error !== null) throw error;
      lastError =`,
    test: RULES,
    title: 'the bridge throws nothing, whatever an op throws (R6)',
  },
  {
    rule: 'R7',
    without: 'the catch around calls of the guest',
    file: 'src/isolate/bridge.ts',
    find: `  } catch {
    // A guest value`,
    replace: `  } finally {
    // A guest value`,
    test: RULES,
    title: 'callGuest() gives no receiver, answers nothing and throws nothing (R7)',
  },
  {
    rule: 'R7',
    without: 'the call without a receiver',
    file: 'src/isolate/bridge.ts',
    find: 'apply(guestFunction, undefined, args)',
    replace: 'apply(guestFunction, args, args)',
    test: RULES,
    title: 'callGuest() gives no receiver, answers nothing and throws nothing (R7)',
  },
  {
    rule: 'R8',
    without: 'strictness of the host realm',
    file: '.scripts/bundle-isolate.mjs',
    find: '"use strict";const',
    replace: 'const',
    test: RULES,
    title: 'all code of the isolate thread is strict (R8)',
  },
  {
    rule: 'R9',
    without: 'the lock of Promise.prototype.then',
    file: 'src/guest/harden.ts',
    find: `lock(Promise.prototype, 'then');`,
    replace: '',
    test: ATTACKS,
    title: attackTitle('to be called while the host waits for its evaluation'),
    // Later versions wait with a `then` of their own.
    toNode: 20,
  },
  {
    rule: 'R9',
    without: 'the lock of Promise.prototype.then',
    file: 'src/guest/harden.ts',
    find: `lock(Promise.prototype, 'then');`,
    replace: '',
    test: GUEST_HARDEN,
    title: 'the then and constructor of promises cannot be replaced',
  },
  {
    rule: 'R9',
    without: 'the lock of Promise.prototype.constructor',
    file: 'src/guest/harden.ts',
    find: `lock(Promise.prototype, 'constructor');`,
    replace: '',
    test: ATTACKS,
    title: attackTitle('to be called while the host waits for its evaluation'),
  },
  {
    rule: 'R9',
    without: 'the lock of the species of promises',
    file: 'src/guest/harden.ts',
    find: `defineProperty(Promise, Symbol.species, {`,
    replace: `defineProperty({}, Symbol.species, {`,
    test: ATTACKS,
    title: attackTitle('to be called while the host waits for its evaluation'),
  },
  {
    rule: 'R10',
    without: 'the ban of looking at rejected values',
    file: 'src/isolate/isolate.ts',
    find: 'const { last } = this.turns;',
    replace: 'this.#context.log(0, String(reason)); const { last } = this.turns;',
    test: ATTACKS,
    title: attackTitle('to be looked at by the host when it rejects'),
  },
  {
    rule: 'R10',
    without: 'the care with what handlers throw',
    file: 'src/guest/failure.ts',
    find: `  } catch {
    return undefined;
  }
}

function stringify`,
    replace: `  } finally {
  }
}

function stringify`,
    test: ATTACKS,
    title: attackTitle('to fail with an error whose every getter is hostile'),
  },
  {
    rule: 'R11',
    without: 'the catch of uncaught errors',
    file: 'src/isolate/worker.ts',
    find: 'process.setUncaughtExceptionCaptureCallback(() => {});',
    replace: '',
    test: 'test/isolate/isolate.test.ts',
    title: 'serve() goes on after an error that nobody has caught (R11)',
  },
  {
    rule: 'R11',
    without: 'the listener for unhandled rejections',
    file: 'src/isolate/worker.ts',
    find: `process.on('unhandledRejection', (reason: unknown, promise: unknown) => isolate?.unhandledRejection(reason, promise));`,
    replace: '',
    test: ATTACKS,
    title: attackTitle('to be looked at by the host when it rejects'),
  },
  {
    rule: 'R10',
    without: 'the switch that keeps Node from displaying what a script throws',
    file: 'src/isolate/modules.ts',
    find: '{ displayErrors: false }',
    replace: '{}',
    test: ATTACKS,
    title: attackTitle('to throw an object whose stack is as long as a text can be in a classic script'),
  },
  {
    rule: 'R10',
    without: 'the brand of errors of loading',
    file: 'src/isolate/load-error.ts',
    find: '#isOurs in error && error.#isOurs',
    replace: 'error instanceof LoadError',
    test: ATTACKS,
    title: attackTitle('to be asked for prototypes when an import fails'),
  },
  {
    rule: 'R12',
    without: 'the rewriting of import()',
    file: 'src/isolate/imports/import-scan.ts',
    find: 'return LOOKS_LIKE_IMPORT.test(source);',
    replace: 'return false;',
    test: 'test/host/load.test.ts',
    title: 'load() links several modules, JSON, text, data and import() of its own',
  },
  {
    rule: 'R12',
    without: 'the refusal of import() in classic scripts',
    file: 'src/isolate/modules.ts',
    find: 'this.#timed(() => refuseImports(source, name, this.places.original));',
    replace: '',
    test: ATTACKS,
    title: attackTitle('import() in a classic script'),
  },
  {
    rule: 'R12',
    without: 'the second look at what was rewritten',
    file: 'src/isolate/imports/rewrite-imports.ts',
    find: `if (parser().importsIn(rewritten, 'module').length > 0)`,
    replace: 'if (false)',
    test: RULES,
    title: 'all that is compiled for the guest realm refuses import() of its own, and has been looked at (R12, R13)',
  },
  {
    rule: 'R12',
    without: 'the look at what a guess leaves',
    file: 'src/isolate/imports/rewrite-imports.ts',
    find: 'if (mayImport(rewritten)) return undefined;',
    replace: '',
    test: 'test/isolate/imports/rewrite-imports.test.ts',
    title: 'no guess of nothing leaves an import() in the text',
  },
  {
    rule: 'R12',
    without: 'the hook that throws a primitive',
    file: 'src/isolate/modules.ts',
    find: 'const options = { context: this.#realm.context, identifier: name, importModuleDynamically: refuseDynamicImport };',
    replace: 'const options = { context: this.#realm.context, identifier: name };',
    test: RULES,
    title: 'all that is compiled for the guest realm refuses import() of its own, and has been looked at (R12, R13)',
  },
  {
    rule: 'R12',
    without: 'the name of the loader that nobody can guess',
    file: 'src/isolate/modules.ts',
    find: '`edgehost:loader/$' + '{randomUUID()}`',
    replace: `'edgehost:loader'`,
    test: ATTACKS,
    title: attackTitle('to import the loader from a module that uses import()'),
  },
  {
    rule: 'R13',
    without: 'the rewriting of import.meta',
    file: 'src/isolate/imports/rewrite-imports.ts',
    find: 'return `({ url: $' + '{JSON.stringify(`file:///$' + '{name}`)} })`;',
    replace: 'return "import.meta";',
    test: ATTACKS,
    title: attackTitle('to read import.meta for the first time at the edge of the stack'),
  },
  {
    rule: 'R14',
    without: 'the ban of AsyncLocalStorage',
    file: 'src/isolate/worker.ts',
    find: 'const { connection } = lease;',
    replace:
      'const { connection } = lease; new (process.getBuiltinModule("node:async_hooks").AsyncLocalStorage)().enterWith({});',
    test: ATTACKS,
    title: attackTitle('to find what Node hangs on promises and errors'),
    // Later versions keep it elsewhere.
    toNode: 20,
  },
  {
    rule: 'R15',
    without: 'the captured Map.prototype.set',
    file: 'src/guest/primordials.ts',
    find: 'uncurry(Map.prototype.set) as',
    replace: '((self: any, key: any, value: any) => self.set(key, value)) as',
    test: ATTACKS,
    title: attackTitle('to patch Map, Set and WeakMap before every web API call'),
  },
  {
    rule: 'R15',
    without: 'the direct call of the bridge',
    file: 'src/guest/bridge.ts',
    find: 'result = hostCall(op, a, b, c, d);',
    replace: 'result = Reflect.apply(hostCall, undefined, [op, a, b, c, d]);',
    test: ATTACKS,
    title: attackTitle('to patch call, apply, bind and Reflect to catch the bridge'),
  },
  {
    rule: 'R16',
    without: 'the missing prototype of the bridge',
    file: 'src/isolate/bridge.ts',
    find: 'Object.setPrototypeOf(hostCall, null);',
    replace: '',
    test: RULES,
    title: 'the bridge function has no prototype and no property, and cannot be given one (R16)',
  },
  {
    rule: 'R16',
    without: 'the freezing of the bridge',
    file: 'src/isolate/bridge.ts',
    find: 'return Object.freeze(hostCall);',
    replace: 'return hostCall;',
    test: RULES,
    title: 'the bridge function has no prototype and no property, and cannot be given one (R16)',
  },
  {
    rule: 'R17',
    without: 'the check of the number of an op',
    file: 'src/isolate/bridge.ts',
    find: `if (typeof op !== 'number' || op !== op >>> 0 || op >= table.length) return FAILED;`,
    replace: '',
    test: RULES,
    title: 'the bridge refuses every op that is not a number of the table, and nested calls (R17)',
  },
  {
    rule: 'R17',
    without: 'the refusal of nested calls',
    file: 'src/isolate/bridge.ts',
    find: 'if (isInside) return FAILED;',
    replace: '',
    test: RULES,
    title: 'the bridge refuses every op that is not a number of the table, and nested calls (R17)',
  },
  {
    rule: 'R17',
    without: 'the check that an argument is text',
    file: 'src/isolate/ops/arguments.ts',
    find: `if (typeof value !== 'string') throw`,
    replace: 'if (false) throw',
    test: 'test/isolate/ops/arguments.test.ts',
    title: 'checkedText() refuses what is no string before it looks at it, and what is too long (R17)',
  },
  {
    rule: 'R17',
    without: 'the check of integers',
    file: 'src/isolate/ops/arguments.ts',
    find: `typeof value !== 'number' || !(value >= min && value <= max) || value !== Math.trunc(value)`,
    replace: 'false',
    test: 'test/isolate/ops/arguments.test.ts',
    title: 'checkedInteger() refuses everything but whole numbers of the range (R17)',
  },
  {
    rule: 'R18',
    without: 'the refusal of resizable buffers by the host',
    file: 'src/isolate/ops/arguments.ts',
    find: 'apply(isResizable, buffer, []) === true',
    replace: 'false',
    test: 'test/isolate/ops/arguments.test.ts',
    title: 'copyIn() refuses resizable and shared buffers, and everything but a Uint8Array (R18)',
  },
  {
    rule: 'R18',
    without: 'the copy of bytes',
    file: 'src/isolate/ops/arguments.ts',
    find: 'const copy = Buffer.allocUnsafeSlow(length);',
    replace: 'if (length >= 0) return value as Uint8Array; const copy = Buffer.allocUnsafeSlow(length);',
    test: 'test/isolate/ops/arguments.test.ts',
    title: 'copyIn() answers with memory that the guest does not hold (R18)',
  },
  {
    rule: 'R18',
    without: 'the constructor without resizable buffers',
    file: 'src/guest/harden.ts',
    find: '\nreplaceArrayBuffer();',
    replace: '',
    test: GUEST_HARDEN,
    title: 'ArrayBuffer() refuses to be resizable',
  },
  {
    rule: 'R19',
    without: 'a realm that is free of host objects',
    file: 'src/isolate/realm.ts',
    find: 'bundle ??= new vm.Script(',
    replace: 'context.planted = []; bundle ??= new vm.Script(',
    test: 'test/attacks/leak-scan.test.ts',
    title: 'everything that guest code reaches is of its own realm',
  },
  {
    rule: 'R19',
    without: 'a realm that is free of host objects',
    file: 'src/isolate/realm.ts',
    find: 'bundle ??= new vm.Script(',
    replace: 'context.planted = () => {}; bundle ??= new vm.Script(',
    test: 'test/fuzz/fuzz.test.ts',
    title: 'fuzz() finds no object of the host realm in some thousands of hostile calls',
  },
  {
    rule: 'R20',
    without: 'the watch of turns',
    file: 'src/pool/cell/watchdog.ts',
    find: 'if (usedMs <= block.budgetMs) return;',
    replace: 'return;',
    test: ATTACKS,
    title: attackTitle('to call the bridge without end'),
  },
  {
    rule: 'R20',
    without: 'the watch of memory',
    file: 'src/pool/cell/watchdog.ts',
    find: 'if (watched.block.isOverMemory)',
    replace: 'if (false)',
    test: 'test/pool/cell/watchdog.test.ts',
    title: 'poll() blames the invocation that the isolate says took the memory, also when its turn is over',
  },
  ...['to loop in a getter that Node calls behind its turn', 'to reject without end behind its turn'].map(tries => ({
    rule: 'R20',
    without: `the watch behind the last turn, against what tries ${tries}`,
    file: 'src/isolate/metering/meter.ts',
    find: 'this.#endedMs = now();',
    replace: 'this.#endedMs = now(); this.leave();',
    test: ATTACKS,
    title: attackTitle(tries),
  })),
  {
    rule: 'R21',
    without: 'an output of its own',
    file: 'src/pool/host/process-cell.ts',
    find: `      'ignore' as const,
      'ignore' as const,
      'pipe' as const,
      'pipe' as const,
      ...Array.from(`,
    replace: `      'ignore' as const,
      'inherit' as const,
      'inherit' as const,
      'pipe' as const,
      ...Array.from(`,
    test: 'test/attacks/cell-output.test.ts',
    title: 'nothing that a cell prints reaches the output of the application (R21)',
  },
  {
    rule: 'R21',
    without: 'the bound of what is kept',
    file: 'src/pool/host/output-tail.ts',
    find: 'if (this.#bytes <= this.#maxBytes) return;',
    replace: 'if (this.#bytes >= 0) return;',
    test: 'test/pool/host/output-tail.test.ts',
    title: 'push() keeps the last bytes, and no more than there is room for',
  },
  {
    rule: 'R22',
    without: 'the removal of what compiles text',
    file: 'src/isolate/harden-thread.ts',
    find: `deleteProperty(prototype, 'constructor');`,
    replace: '{}',
    test: THREAD_HARDEN,
    title: 'hardenThread() leaves no way to compile code or to reach the process',
  },
  {
    rule: 'R22',
    without: 'the removal of globals of the thread',
    file: 'src/isolate/harden-thread.ts',
    find: `deleteProperty(globalThis, name);`,
    replace: '{}',
    test: THREAD_HARDEN,
    title: 'hardenThread() leaves no way to compile code or to reach the process',
  },
  {
    rule: 'R22',
    without: 'the freezing of intrinsics',
    file: 'src/isolate/harden-thread.ts',
    find: `else freeze(intrinsic);`,
    replace: '',
    test: THREAD_HARDEN,
    title: 'hardenThread() freezes the intrinsics and lets objects override what they inherit',
  },
  {
    rule: 'R22',
    without: 'the freezing of the prototypes of arrays',
    file: 'src/isolate/harden-thread.ts',
    find: `if (hasIndexedHeirs(intrinsic)) freezeProperties(intrinsic);`,
    replace: 'if (hasIndexedHeirs(intrinsic)) {}',
    test: THREAD_HARDEN,
    title: 'hardenThread() freezes the intrinsics and lets objects override what they inherit',
  },
  {
    rule: 'R22',
    without: 'the call that hardens the thread',
    file: 'src/isolate/worker.ts',
    find: `  hardenThread();\n`,
    replace: '',
    test: 'test/isolate/isolate.test.ts',
    title: 'serve() hardens its thread (R22)',
  },
  ...cellFlag('R23', '--disallow-code-generation-from-strings'),
  ...cellFlag('R23', '--disable-proto=delete'),
  ...cellFlag('R23', '--no-addons'),
  ...cellFlag('R23', '--no-warnings'),
  {
    rule: 'R23',
    without: '--disable-sigusr1',
    file: 'src/pool/sandbox/cell-flags.ts',
    find: `'--disable-sigusr1', `,
    replace: '',
    test: LAYERS,
    title: 'the command line of a cell carries the flags of rules R23 and R24',
    fromNode: 24,
  },
  {
    rule: 'R23',
    without: '--no-experimental-sqlite in threads',
    file: 'src/pool/sandbox/cell-flags.ts',
    find: `    ...(major >= 24 ? [NO_SQLITE] : []),\n`,
    replace: '',
    test: LAYERS,
    title: 'code with process in hand in the thread of a cell reaches no file, process or thread (sandbox off)',
    fromNode: 24,
  },
  {
    rule: 'R24',
    without: 'the permission model of the cell',
    file: 'src/pool/sandbox/cell-flags.ts',
    find: `    PERMISSION,\n    '--allow-worker',`,
    replace: '',
    test: LAYERS,
    title: 'code with process in hand in the main of a cell reaches no file, process or thread (sandbox off)',
  },
  {
    rule: 'R24',
    without: 'the permission model of the thread',
    file: 'src/pool/sandbox/cell-flags.ts',
    find: `  return [\n    PERMISSION,\n    ...fsRead([`,
    replace: `  return [\n    ...fsRead([`,
    test: LAYERS,
    title: 'code with process in hand in the thread of a cell reaches no file, process or thread (sandbox off)',
  },
  {
    rule: 'R25',
    without: 'an environment without the host',
    file: 'src/pool/launcher/command.ts',
    find: 'env: CELL_ENVIRONMENT,',
    replace: 'env: { SECRET: "x" },',
    test: LAYERS,
    title: 'a cell has no environment of the host, no folder and no descriptor of its files',
  },
  {
    rule: 'R25',
    without: 'the bound of a frame',
    file: 'src/protocol/frames/frame-reader.ts',
    find: 'if (length > this.#bounds.payload(type))',
    replace: 'if (false)',
    test: HOSTILE_CELL,
    title: 'a cell that sends a length of four gigabytes loses the isolate, and no more',
  },
  {
    rule: 'R25',
    without: 'the check of credit',
    file: 'src/protocol/bodies/incoming-body.ts',
    find: 'if (this.#grantedBytes < 0)',
    replace: 'if (false)',
    test: HOSTILE_CELL,
    title: 'a cell that sends more data than it has credit for loses the isolate, and no more',
  },
  {
    rule: 'R25',
    without: 'the binding to an invocation that is open',
    file: 'src/pool/host/isolate-handle.ts',
    find: 'const port = this.#invocations.get(id);\n    if (port === undefined) {\n      if (kind === SignalKind.TimerDue',
    replace:
      'const port = this.#invocations.get(id) ?? [...this.#invocations.values()][0]!;\n    if (port === undefined) {\n      if (kind === SignalKind.TimerDue',
    test: HOSTILE_CELL,
    title: 'notes, replies and calls for invocations of others reach nobody',
  },
  {
    rule: 'R26',
    without: 'a supervisor for each account',
    file: 'src/host/core/host-accounts.ts',
    find: 'new Account(id, { settings, limits }, this.#hostOf(id, share), cells)',
    replace: 'new Account(id, { settings, limits }, this.#hostOf(id, share), (globalThis.shared ??= cells))',
    test: LAYERS,
    title: 'two accounts never share a process',
  },
  {
    rule: 'R26',
    without: 'a cell that is given once',
    file: 'src/pool/host/capacity/live-cell.ts',
    find: "if (this.#isGiven) throw new Error('The cell belongs to an account already');",
    replace: '',
    test: 'test/pool/host/capacity/warm-cells.test.ts',
    title: 'a cell that was given is never given again',
  },
  {
    rule: 'R27',
    without: 'the listener for SIGUSR1',
    file: 'src/host/core/inspector-signal.ts',
    find: `process.on('SIGUSR1', () => {});`,
    replace: '{}',
    test: RULES,
    title: 'the host outlives SIGUSR1 without an inspector while a cell runs (R27)',
  },
  {
    rule: 'R28',
    without: 'the namespace of the network',
    file: ROOM,
    find: `'--unshare-net', `,
    replace: '',
    test: LAYERS,
    title: OWN_SANDBOX,
  },
  {
    rule: 'R28',
    without: 'the address policy of outgoing requests',
    file: 'src/bindings/egress/policed-lookup.ts',
    find: '.filter(address => policy.allows(address))',
    replace: '',
    test: 'test/bindings/egress/egress-attacks.test.ts',
    title: 'a name that resolves to a private address is not connected to',
  },
  {
    rule: 'R28',
    without: 'the listed hosts',
    file: EGRESS,
    find: 'this.#request.policy?.checkRequest(hop, this.#request.origin);',
    replace: '',
    test: EGRESS_RULES,
    title: 'a redirect within the origin keeps the secret, and one to a host that is not listed is refused unsent',
  },
  {
    rule: 'R28',
    without: 'headers with secrets left behind by redirects',
    file: EGRESS,
    find: 'return { ...next, headers: policy.withoutSecrets(next.headers) };',
    replace: 'return next;',
    test: EGRESS_RULES,
    title: 'a redirect (307) to another host, port or scheme leaves every header with a secret behind',
  },
  {
    rule: 'R28',
    without: 'placeholders in the place of secrets in answers',
    file: EGRESS,
    find: '(at % 2 === 1 ? substituted.hidden(text) : text)',
    replace: 'text',
    test: EGRESS_RULES,
    title: 'a server that repeats the secret in its head repeats the placeholder',
  },
  {
    rule: 'R28',
    without: 'the hosts of a secret',
    file: 'src/bindings/egress/rules/egress-policy.ts',
    find: 'if (!list.allows(destination, []))',
    replace: 'if (false)',
    test: EGRESS_RULES,
    title: 'a server that puts the secret into a redirect to another listed host gives nothing away',
  },
  ...(['process', 'thread'] as const).map(isolation => ({
    rule: 'R30',
    without: `--no-force-async-hooks-checks (${isolation})`,
    file: 'src/pool/sandbox/cell-flags.ts',
    find: `  '--no-force-async-hooks-checks',\n`,
    replace: '',
    test: ATTACKS,
    title: attackTitle('to answer the ids that Node reads off rejected promises', isolation),
  })),
  ...sandboxFlag(ROOM, `'--unshare-pid', `, 'the namespace of processes'),
  ...sandboxFlag(ROOM, `'--unshare-ipc', `, 'the namespace of IPC'),
  ...sandboxFlag(WALLS, '          user: start.id,\n', 'the user of its own'),
  {
    rule: 'R29',
    without: 'a user for each cell',
    file: 'src/pool/sandbox/user-ids.ts',
    find: 'const id = this.#free.shift();',
    replace: 'const id = this.#free[0];',
    test: LAYERS,
    title: 'two accounts are two users of the system, where cells have users of their own',
  },
  {
    rule: 'R29',
    without: 'the ban of core dumps',
    file: 'src/pool/sandbox/cell-rules.ts',
    find: `core: 0, fsize`,
    replace: 'fsize',
    test: LAYERS,
    title: OWN_SANDBOX,
  },
  ...nativeHole(
    WALLS,
    `...filterArguments(start.filterFd),\n          '--',\n          // Behind`,
    `'--',\n          // Behind`,
    'the filter',
  ),
  // The files that are in the root are those that Landlock lets it open: one more is reached through both.
  ...nativeHole(
    ROOM,
    `...builtinsOnDisk(), ...paths])]`,
    `...builtinsOnDisk(), ...paths, '/etc'])]`,
    'the bounds of the root and of Landlock',
  ),
  ...nativeHole(
    'src/pool/sandbox/filter/cell-filter.ts',
    `mask: ~IGNORED_CLONE_FLAG, value: THREAD_FLAGS`,
    'mask: 0, value: 0',
    'the flags of threads',
  ),
  ...nativeHole('src/pool/sandbox/filter/cell-filter.ts', `prctl(1, SIGKILL)`, 'prctl(1)', 'the signal of its death'),
];

function cellFlag(rule: string, flag: string): readonly Ablation[] {
  return [
    {
      rule,
      without: flag,
      file: 'src/pool/sandbox/cell-flags.ts',
      find: flag === '--no-warnings' ? `    '--no-warnings',\n    '--no-deprecation',` : `    '${flag}',\n`,
      replace: flag === '--no-warnings' ? `    '--no-deprecation',` : '',
      test: LAYERS,
      title: 'the command line of a cell carries the flags of rules R23 and R24',
    },
  ];
}

function sandboxFlag(file: string, find: string, without: string): readonly Ablation[] {
  return [{ rule: 'R29', without, file, find, replace: '', test: LAYERS, title: OWN_SANDBOX }];
}

/** What native code gets through when it is taken out. */
function nativeHole(file: string, find: string, replace: string, without: string): readonly Ablation[] {
  const title = 'native code in a complete sandbox gets nothing but its own sockets, memory and threads';
  return [{ rule: 'R29', without, file, find, replace, test: 'test/attacks/native.test.ts', title }];
}

/** The title of the test, as AVA prints it. */
export function testTitle({ title }: Ablation): string {
  return title;
}
