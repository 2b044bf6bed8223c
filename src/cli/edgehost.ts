/** The command `edgehost`: finds the subcommand, or says which there are. */
import { readFile } from 'node:fs/promises';
import type { Command, CommandIo, ExitCode } from './terminal/command.js';
import { nearestOf } from './terminal/nearest.js';

interface Listed {
  readonly name: string;
  /** One line of `edgehost --help`. */
  readonly summary: string;
  /** Each is loaded when it is called. */
  readonly load: () => Promise<Command>;
}

const COMMANDS: readonly Listed[] = [
  {
    name: 'dev',
    summary: 'serve a function, or a folder of them, and reload on change',
    load: async () => (await import('./dev.js')).DEV,
  },
  {
    name: 'serve',
    summary: 'serve the accounts and functions of a configuration file, in production',
    load: async () => (await import('./serve.js')).SERVE,
  },
  {
    name: 'check',
    summary: 'check configuration and scripts as loading them would',
    load: async () => (await import('./check.js')).CHECK,
  },
  {
    name: 'init',
    summary: 'write a small function to begin with',
    load: async () => (await import('./init.js')).INIT,
  },
  {
    name: 'types',
    summary: 'write the type of env that a configuration file describes',
    load: async () => (await import('./types.js')).TYPES,
  },
  {
    name: 'doctor',
    summary: 'say how accounts are separated on this machine, and what is missing',
    load: async () => (await import('./doctor.js')).DOCTOR,
  },
  {
    name: 'repair',
    summary: 'save what can be read of a damaged storage directory',
    load: async () => (await import('./repair.js')).REPAIR,
  },
  {
    name: 'sql',
    summary: 'apply migrations to an SQL database',
    load: async () => (await import('./sql.js')).SQL,
  },
  {
    name: 'objects',
    summary: 'list the stateful objects of an account of a running host',
    load: async () => (await import('./objects.js')).OBJECTS,
  },
  {
    name: 'tail',
    summary: 'print what happens in an account of a running host',
    load: async () => (await import('./tail.js')).TAIL,
  },
  {
    name: 'audit',
    summary: 'list calls of the management API that are gone or will be',
    load: async () => (await import('./audit.js')).AUDIT,
  },
];

const HELP = `Usage: edgehost <command> [options]

Commands
${COMMANDS.map(({ name, summary }) => `  ${name.padEnd(8)}${summary}`).join('\n')}

Options
  -h, --help     this text; edgehost <command> --help has the options of a command
  -v, --version  the version of the package

Exit codes
  0  done, nothing is wrong
  1  what the command looks for was found, or it failed
  2  the arguments, or a file that they name, cannot be used
`;

export async function runEdgehost([name, ...args]: readonly string[], io: CommandIo): Promise<ExitCode> {
  // edgehost help audit
  if (name === 'help' && args.length > 0) return runEdgehost([...args.slice(0, 1), '--help'], io);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    io.out(HELP);
    return 0;
  }
  if (name === '--version' || name === '-v') {
    io.out(`${await packageVersion()}\n`);
    return 0;
  }
  const listed = COMMANDS.find(candidate => candidate.name === name);
  if (listed !== undefined) return (await listed.load()).run(args, io);
  const nearest = nearestOf(
    name,
    COMMANDS.map(command => command.name),
  );
  const hint = nearest === undefined ? '' : `; did you mean edgehost ${nearest}?`;
  io.err(`edgehost: there is no command ${JSON.stringify(name)}${hint}\n${HELP}`);
  return 2;
}

async function packageVersion(): Promise<string> {
  // From dist/src/cli.
  const text = await readFile(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version }: { version?: unknown } = JSON.parse(text);
  return String(version);
}
