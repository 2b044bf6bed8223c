/** node:process, and the global of that name. */

import { codeError } from '../errors.ts';
import { setEmitterWarnings } from '../events/emitter.ts';
import { EventEmitter } from '../events/events.ts';
import { requireNode } from '../options.ts';
import { hasNodeModule } from '../unsupported.ts';
import { createEnvironment } from './environment.ts';
import { endInvocation } from './exit.ts';
import { ABSENT, identity } from './identity.ts';
import { standardError, standardInput, standardOutput } from './standard-streams.ts';
import { nextTick } from './ticks.ts';
import { hrtime, memoryUsage, uptime } from './times.ts';
import { emitWarning, setWarningTarget, type WarningTarget } from './warnings.ts';

interface Process extends WarningTarget {
  exitCode?: unknown;
  emit(type: string, ...args: unknown[]): boolean;
  on(type: string, listener: (...args: never[]) => void): void;
  listenerCount(type: string): number;
}

/** As in Node, its constructor has its name and cannot be called by code. */
const prototype = Object.create(EventEmitter.prototype, {
  constructor: { value: { process() {} }.process, writable: true, configurable: true },
});

const created = Object.create(prototype) as Process & { [name: string]: unknown }; // it gets its members below
EventEmitter.init.call(created as never); // it inherits from the emitter

function exit(code?: unknown): never {
  const given = code ?? created.exitCode ?? 0;
  if (typeof given !== 'number' && typeof given !== 'string') {
    throw codeError(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "code" argument must be of type number or string.');
  }
  created.exitCode = given;
  try {
    created.emit('exit', given);
  } finally {
    endInvocation(given);
  }
}

function getBuiltinModule(id: unknown): unknown {
  const name = String(id);
  const bare = name.startsWith('node:') ? name.slice('node:'.length) : name;
  return hasNodeModule(bare) ? requireNode(bare) : undefined;
}

Object.assign(created, Object.fromEntries(ABSENT.map(name => [name, undefined])), identity, {
  env: createEnvironment(),
  nextTick,
  emitWarning,
  exit,
  abort: (): never => exit(134),
  getBuiltinModule,
  hrtime,
  uptime,
  memoryUsage,
});

function defineStream(name: string, create: () => object): void {
  let stream: object | undefined;
  Object.defineProperty(created, name, {
    get() {
      stream ??= create();
      return stream;
    },
    enumerable: true,
    configurable: true,
  });
}

defineStream('stdin', standardInput);
defineStream('stdout', standardOutput);
defineStream('stderr', standardError);

interface ErrorEventLike {
  readonly error: unknown;
  readonly reason: unknown;
  readonly promise: unknown;
  preventDefault(): void;
}

/** By event of the process: the event of the global scope that it follows, and the arguments of its listeners. */
const FOLLOWED: { readonly [type: string]: readonly [string, (event: ErrorEventLike) => readonly unknown[]] } = {
  unhandledRejection: ['unhandledrejection', ({ reason, promise }) => [reason, promise]],
  rejectionHandled: ['rejectionhandled', ({ promise }) => [promise]],
  uncaughtException: ['error', ({ error }) => [error, 'uncaughtException']],
};

const { addEventListener } = globalThis as unknown as {
  addEventListener(type: string, listener: (event: ErrorEventLike) => void): void; // of the bundle
};
const followed = new Set<string>();

created.on('newListener', (type: string) => {
  const rule = Object.hasOwn(FOLLOWED, type) ? FOLLOWED[type] : undefined;
  if (rule === undefined || followed.has(type)) return;
  followed.add(type);
  const [source, args] = rule;
  addEventListener(source, event => {
    if (created.listenerCount(type) === 0) return;
    event.preventDefault();
    created.emit(type, ...args(event));
  });
});

setWarningTarget(created);
setEmitterWarnings(emitWarning);

export default created;
