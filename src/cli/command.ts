/** What a subcommand of `edgehost` is: arguments in, text and an exit code out. */

export interface CommandIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether a person reads the output. */
  readonly isTerminal: boolean;
  readonly now: () => Date;
}

/** 0: nothing is wrong; 1: what the command looks for was found; 2: the arguments, or a file that they name, cannot be used. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  readonly name: string;
  /** One line of `edgehost --help`. */
  readonly summary: string;
  readonly run: (args: readonly string[], io: CommandIo) => Promise<ExitCode>;
}
