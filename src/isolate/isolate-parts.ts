/** The parts of an isolate that belong together: each is there when the first op or event comes. */
import type { Channel } from '../protocol/channel.js';
import type { BackendLine } from './invocations/backend-line.js';
import type { InvocationMeter } from './metering/meter.js';
import type { ModuleGraph } from './modules.js';
import type { Timers } from './ops/timers.js';
import type { TurnQueue } from './turns.js';

export interface IsolateParts {
  readonly turns: TurnQueue;
  readonly meter: InvocationMeter;
  readonly timers: Timers;
  /** Undefined until the isolate is connected. */
  readonly channel: Channel | undefined;
  /** The connection to the backend process; undefined with `backend: 'inline'`, where services are called over `channel`. */
  readonly line: BackendLine | undefined;
  /** Undefined until the function loads. */
  readonly modules: ModuleGraph | undefined;
  /** It is for runs, after which its realm is over. */
  readonly isForRuns: boolean;
  /** Turns are waiting, or work is pending that may belong to any invocation. */
  readonly isBusy: boolean;
}
