/**
 * The main thread of a cell: starts, watches and ends isolate threads. It reads nothing but its control connection, and ends with it:
 * when the application is gone, however it went, the connection closes and so does the cell.
 */
import process from 'node:process';
import { Channel } from '../protocol/channel.js';
import { descriptorTransport } from '../protocol/transport.js';
import { type CellSettings, Control, flag, MAX_DETAIL_CHARACTERS } from './control.js';
import { ThreadPool } from './thread-pool.js';
import { ThreadPriority } from './thread-priority.js';

const CONTROL_FD = 3;
/** Longer than a host that is there waits before it ends the cell itself, and says why. */
const THREADS_END_WITHIN_MS = 3000;

let pool: ThreadPool | undefined;

const channel = new Channel(descriptorTransport(CONTROL_FD), 'isolate', {
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
        pool?.start(lease, { fd: payload.readUInt32LE(0) });
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
    residentBytes: () => process.memoryUsage.rss(),
    priority: new ThreadPriority(undefined, settings.basePriority),
    onEnd: (lease, end, detail) =>
      channel.signal(lease, Control.Ended, `${end}\n${detail.slice(0, MAX_DETAIL_CHARACTERS)}`),
    onLongTurn: (lease, isRunning) => channel.signal(lease, Control.LongTurn, flag(isRunning)),
    onLinger: isStuck => channel.signal(0, Control.Linger, flag(isStuck)),
  });
}

/**
 * `process.exit()` waits for every thread, and a stuck one never ends: the cell would outlive its application, and burn a processor for
 * good. So it is called when the threads have ended; when one does not, a signal ends the process.
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
  // The first process of a namespace is deaf to its own signals, but not to the trap that abort() ends with.
  process.abort();
}
