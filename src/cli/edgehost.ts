/** The command `edgehost`: finds the subcommand, or says which there are. */
import type { Command, CommandIo, ExitCode } from './command.js';

/** Each is loaded when it is called. */
const COMMANDS: readonly Command[] = [
  {
    name: 'audit',
    summary: 'list calls of the management API that are gone or will be',
    run: async (args, io) => (await import('./audit.js')).runAudit(args, io),
  },
];

const HELP = `Usage: edgehost <command> [options]

Commands
${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(7)} ${summary}`).join('\n')}

Options
  -h, --help  this text; edgehost <command> --help has the options of a command

Exit codes
  0  done
  1  what the command looks for was found
  2  the arguments, or a file that they name, cannot be used
`;

export async function runEdgehost([name, ...args]: readonly string[], io: CommandIo): Promise<ExitCode> {
  // edgehost help audit
  if (name === 'help' && args.length > 0) return runEdgehost([...args.slice(0, 1), '--help'], io);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    io.out(HELP);
    return 0;
  }
  const command = COMMANDS.find(candidate => candidate.name === name);
  if (command !== undefined) return command.run(args, io);
  io.err(`edgehost: there is no command ${JSON.stringify(name)}\n${HELP}`);
  return 2;
}
