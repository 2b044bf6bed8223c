/** The resource limits of a process, set by the launcher, or by prlimit where the launcher is missing. */
import { confineCommand, resourcesOf } from './confine.js';
import { attempt, type Programs } from './programs.js';
import type { ProcessRules } from './rules.js';
import type { ProcessStart } from './walls.js';

export interface Limits {
  readonly areSet: boolean;
  /** The words of a wall, with limits; for a process with a user of its own with a bound of threads, which the system counts by user. */
  command(start: ProcessStart, hasOwnUser: boolean, wall: readonly string[]): readonly string[];
}

const TRY_WITHIN_MS = 10_000;

export async function limitsFor(programs: Programs, rules: ProcessRules): Promise<Limits> {
  const { confine, prlimit } = programs;
  if (confine !== undefined) return limitsByLauncher(confine, rules);
  if (prlimit !== undefined) return limitsByPrlimit(prlimit, rules);
  return { areSet: false, command: (_start, _hasOwnUser, wall) => wall };
}

/** The launcher sets as much as the system permits, and is one program with the wall where that begins with it. */
function limitsByLauncher(confine: string, { limits, raised, threads }: ProcessRules): Limits {
  return {
    areSet: true,
    command: ({ descriptors, filterFd = -1 }, hasOwnUser, wall) => {
      const words = confineCommand(confine, {
        keep: Math.max(descriptors, filterFd + 1),
        limits: hasOwnUser ? { ...limits, nproc: threads } : limits,
        raised,
      });
      return wall[0] === confine ? [...words.slice(0, -1), ...wall.slice(1)] : [...words, ...wall];
    },
  };
}

/** prlimit sets all limits that it is given, or none: each group is tried out, and the ones that the system permits are used together. */
async function limitsByPrlimit(prlimit: string, { limits, raised, threads }: ProcessRules): Promise<Limits> {
  const works = async (args: readonly string[]): Promise<boolean> =>
    (await attempt([prlimit, ...args, prlimit, '--version'], { cwd: '/', timeoutMs: TRY_WITHIN_MS })).works;
  const all = resourcesOf(limits);
  const option = ([name, value]: readonly [string, number]): string => `--${name}=${value}`;
  const groups = [
    all.filter(([, value]) => value === 0).map(option),
    ...[...all.filter(([, value]) => value > 0), ...resourcesOf(raised)].map(limit => [option(limit)]),
  ];
  const perUser = [`--nproc=${threads}`];
  const [areThreadsBounded = false, ...areSet] = await Promise.all([perUser, ...groups].map(works));
  const args = groups.filter((_, index) => areSet[index]).flat();
  return {
    areSet: args.length > 0,
    command: (_start, hasOwnUser, wall) =>
      args.length === 0 ? wall : [prlimit, ...args, ...(hasOwnUser && areThreadsBounded ? perUser : []), ...wall],
  };
}
