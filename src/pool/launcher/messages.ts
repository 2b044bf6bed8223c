/** The messages between an application and the process that starts its cells, as JSON. Sockets go along with messages of the kind 'socket'. */

/** How a command and all that it has started is ended. */
export interface Ending {
  /** The process that is started is not the command, but waits for it. */
  readonly isWrapped: boolean;
  /** The wrapper is a command of the owner's own: it may start another process or become the command. */
  readonly isCustom: boolean;
}

/** A command, and how it is ended. */
export interface LaunchedCommand extends Ending {
  readonly command: readonly string[];
  /** Descriptors from 0 on. */
  readonly stdio: readonly ('ignore' | 'pipe')[];
}

export type LaunchRequest =
  /** A socket that the command inherits behind its other descriptors; before its 'launch'. */
  | { readonly op: 'socket'; readonly id: number }
  | ({
      readonly op: 'launch';
      readonly id: number;
      /** A filter of system calls, in base64. */
      readonly filter: string | undefined;
    } & LaunchedCommand)
  | { readonly op: 'kill'; readonly id: number }
  | { readonly op: 'priority'; readonly id: number; readonly priority: number };

export type LaunchReport =
  | { readonly op: 'up' }
  | { readonly op: 'started'; readonly id: number; readonly pid: number }
  /** The application's end of a descriptor. */
  | { readonly op: 'socket'; readonly id: number; readonly fd: number }
  /** All sockets have been sent. */
  | { readonly op: 'open'; readonly id: number }
  | { readonly op: 'failed'; readonly id: number; readonly message: string }
  | {
      readonly op: 'exit';
      readonly id: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };
