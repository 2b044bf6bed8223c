/**
 * The main thread of a cell: starts, watches and ends isolate threads. It reads only its control connection and ends with it, so a cell never
 * outlives its application.
 */
import process from 'node:process';
import { Channel } from '../../protocol/channel.js';
import { descriptorTransport } from '../../protocol/transports/transport.js';
import { type CellSettings, Control, flag, MAX_DETAIL_CHARACTERS, parseStart } from '../control.js';
import { ThreadPool } from './thread-pool.js';
import { ThreadPriority } from './thread-priority.js';

const CONTROL_FD = 3;
/** Longer than a live host waits before it kills the cell itself and reports why. */
const THREADS_END_WITHIN_MS = 3000;

let pool: ThreadPool | undefined;

const channel = new Channel(descriptorTransport(CONTROL_FD), 'isolate', {
  throwsFaults: true,
  onOpen(exchange) {
    exchange.fail('Not supported');
  },
  onSignal(lease, kind, payload) {
    switch (kind) {
      case Control.Settings:
        pool = createPool(JSON.parse(payload.toString('utf8'))); // written by the host
        channel.signal(0, Control.Ready, '');
        return;
      case Control.Start:
        pool?.start(lease, parseStart(payload));
        return;
      case Control.End:
        pool?.end(lease, 'closed');
        return;
      case Control.Ping:
        channel.signal(0, Control.Pong, '');
        return;
      default:
    }
  },
  onClose: end,
});

function createPool(settings: CellSettings): ThreadPool {
  return new ThreadPool({
    ...settings,
    residentBytes,
    priority: new ThreadPriority(undefined, settings.basePriority),
    onEnd: (lease, end, detail) =>
      channel.signal(lease, Control.Ended, `${end}\n${detail.slice(0, MAX_DETAIL_CHARACTERS)}`),
    onLongTurn: (lease, isRunning) => channel.signal(lease, Control.LongTurn, flag(isRunning)),
    onTerminationOverdue: isStuck => channel.signal(0, Control.TerminationOverdue, flag(isStuck)),
  });
}

/** Undefined on a Linux without /proc, where Node throws. */
function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/**
 * `process.exit()` waits for every thread, and a stuck one never ends: the cell would outlive its application and keep a processor busy. So it is
 * called after all threads have ended; if one does not end in time, a signal ends the process.
 */
function end(): void {
  setTimeout(endNow, THREADS_END_WITHIN_MS);
  closePool().then(() => process.exit(0), endNow);
}

async function closePool(): Promise<void> {
  await pool?.close();
  await pool?.ended();
}

function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
  // The first process of a namespace ignores its own signals, but not the trap instruction with which abort() ends.
  process.abort();
}
