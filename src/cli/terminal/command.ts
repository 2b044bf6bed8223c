/** A subcommand of `edgehost`: arguments in, text and an exit code out. */
import { messageOf } from '../../quotas/errors.js';
import { type Arguments, helpOf, type OptionTable, readArguments, type Syntax, UsageError } from './arguments.js';

export interface CommandIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether a person reads the output. */
  readonly isTerminal: boolean;
  readonly now: () => Date;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Aborts when the command is to stop: for commands that run until then. Asking for it the first time takes over SIGINT, SIGTERM and SIGHUP; the second signal
   * ends the process at once. `isForeground`: it also aborts when the package manager that has started the command is gone.
   */
  readonly stopSignal: (options?: { readonly isForeground?: boolean }) => AbortSignal;
}

/** 0: done, nothing is wrong; 1: what the command looks for was found, or it failed; 2: the arguments, or a file that they name, cannot be used. */
export type ExitCode = 0 | 1 | 2;

export interface Command {
  readonly help: string;
  readonly run: (args: readonly string[], io: CommandIo) => Promise<ExitCode>;
}

/** An error whose text is printed and which ends the command with this exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** A command that reads its arguments by a table. An error of the body that is not a CommandError ends it with 1. */
export function command<T extends OptionTable>(
  syntax: Syntax<T>,
  body: (input: Arguments<T>, io: CommandIo) => Promise<ExitCode>,
): Command {
  const help = helpOf(syntax);
  const run = async (args: readonly string[], io: CommandIo): Promise<ExitCode> => {
    try {
      const input = readArguments(syntax, args);
      if (input !== undefined) return await body(input, io);
      io.out(help);
      return 0;
    } catch (error) {
      const hint = error instanceof UsageError ? `\nTry edgehost ${syntax.name} --help` : '';
      io.err(`edgehost ${syntax.name}: ${messageOf(error)}${hint}\n`);
      return error instanceof UsageError ? 2 : error instanceof CommandError ? error.exitCode : 1;
    }
  };
  return { help, run };
}
