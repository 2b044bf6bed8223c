/**
 * The launcher: it starts the processes of cells for an application, since fork() copies the page tables of its caller, and stops it meanwhile. It hands the
 * application's ends of their descriptors back, reports how they end, and ends with the application, and they with it.
 */
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import process from 'node:process';
import { setTreePriority } from '../processes/tree-priority.js';
import { killTree, startCommand } from './command.js';
import type { Ending, LaunchReport, LaunchRequest } from './messages.js';

/** Cells without a wrapper end by themselves within this time, when their application is gone. */
const CHILDREN_END_WITHIN_MS = 5000;
/** While sockets are on their way, Node reports no 'disconnect' before they are taken, which an application that is gone never does. */
const CONNECTION_CHECK_MS = 1000;

type LaunchRequested = Extract<LaunchRequest, { op: 'launch' }>;

/** A command that waits for those before it. */
interface Waiting {
  readonly request: LaunchRequested;
  /** The nice value that it is to get. */
  priority: number | undefined;
}

interface Launched {
  readonly child: ChildProcess;
  readonly ending: Ending;
}

const launched = new Map<number, Launched>();
const inherited = new Map<number, Socket[]>();
const waiting: Waiting[] = [];
/** Sockets of an earlier command are on their way: the sockets of another one would wait, and the output of their processes would be read here. */
let isSending = false;
let isEnding = false;

process.title = 'edgehost-launch';
process.on('message', (request: LaunchRequest, socket: unknown) => {
  switch (request.op) {
    case 'socket':
      if (socket instanceof Socket) inherited.set(request.id, [...(inherited.get(request.id) ?? []), socket]);
      return;
    case 'launch':
      waiting.push({ request, priority: undefined });
      launchNext();
      return;
    case 'kill':
      kill(request.id);
      return;
    case 'priority': {
      const { id, priority } = request;
      const { pid } = launched.get(id)?.child ?? {};
      const next = waiting.find(each => each.request.id === id);
      if (pid !== undefined) setTreePriority(pid, priority);
      else if (next !== undefined) next.priority = priority;
      return;
    }
    default:
  }
});
process.on('disconnect', end);
report({ op: 'up' });

function launchNext(): void {
  if (isSending) return;
  const next = waiting.shift();
  if (next === undefined) return;
  isSending = true;
  const check = setInterval(() => {
    if (process.connected) return;
    clearInterval(check);
    end();
  }, CONNECTION_CHECK_MS);
  launch(next, () => {
    clearInterval(check);
    isSending = false;
    launchNext();
  });
}

function launch(
  { request: { id, command, stdio, filter, isWrapped, isCustom }, priority }: Waiting,
  onOpen: () => void,
): void {
  const sockets = inherited.get(id) ?? [];
  inherited.delete(id);
  let child: ChildProcess;
  try {
    child = startCommand(
      command,
      [...stdio, ...sockets],
      filter === undefined ? undefined : Buffer.from(filter, 'base64'),
      // The folder of the package's code, in which the application has started this process: as a bundle it does not know it.
      process.cwd(),
    );
  } catch (error) {
    report({ op: 'failed', id, message: error instanceof Error ? error.message : String(error) }, onOpen);
    return;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  const { pid } = child;
  child.once('error', error => {
    if (pid === undefined) report({ op: 'failed', id, message: error.message });
  });
  if (pid === undefined) {
    onOpen();
    return;
  }
  launched.set(id, { child, ending: { isWrapped, isCustom } });
  child.once('exit', (code, signal) => {
    launched.delete(id);
    report({ op: 'exit', id, code, signal });
    if (isEnding && launched.size === 0) process.exit();
  });
  if (priority !== undefined) setTreePriority(pid, priority);
  report({ op: 'started', id, pid });
  // Standard error first, in this turn: nothing of it is read here.
  for (const [fd, kind] of stdio.entries()) {
    const socket = child.stdio[fd];
    if (kind === 'pipe' && socket instanceof Socket) send({ op: 'socket', id, fd }, socket);
  }
  report({ op: 'open', id }, onOpen);
}

function kill(id: number): void {
  const started = launched.get(id);
  if (started !== undefined) {
    killTree(started.child, started.ending);
    return;
  }
  const at = waiting.findIndex(({ request }) => request.id === id);
  if (at < 0) return;
  waiting.splice(at, 1);
  for (const socket of inherited.get(id) ?? []) socket.destroy();
  inherited.delete(id);
  report({ op: 'failed', id, message: 'it was ended before it was started' });
}

function report(message: LaunchReport, onSent?: () => void): void {
  send(message, undefined, onSent);
}

/** The application may be gone: then this process ends, too. */
function send(message: LaunchReport, socket?: Socket, onSent?: () => void): void {
  if (!process.connected) return;
  process.send?.(message, socket, { keepOpen: false }, () => onSent?.());
}

function end(): void {
  isEnding = true;
  waiting.length = 0;
  if (launched.size === 0) process.exit();
  for (const { child, ending } of launched.values()) killTree(child, ending);
  setTimeout(() => process.exit(), CHILDREN_END_WITHIN_MS);
}
