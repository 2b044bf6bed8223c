/** node:os. A function learns nothing of the machine of its host: these are the answers of the hosted platform. */
import { codeError } from './errors.ts';
import { valuesOf } from './unsupported.ts';

const values = Object.entries(valuesOf('constants'));

function matching(pattern: RegExp): object {
  return Object.fromEntries(values.filter(([name]) => pattern.test(name)));
}

const constants = Object.freeze({
  UV_UDP_REUSEADDR: 4,
  dlopen: matching(/^RTLD_/),
  errno: matching(/^E[A-Z0-9]+$/),
  signals: matching(/^SIG[A-Z0-9]+$/),
  priorities: matching(/^PRIORITY_/),
});

function answers<T>(name: string, value: T): () => T {
  const answer = { [name]: () => value }[name] as () => T; // defined in this expression
  // Texts use these functions as values.
  const primitive = { value: answer, enumerable: false, configurable: true };
  if (typeof value === 'string') Object.defineProperty(answer, Symbol.toPrimitive, primitive);
  return answer;
}

export default {
  EOL: '\n',
  devNull: '/dev/null',
  constants,
  arch: answers('arch', 'x64'),
  availableParallelism: answers('availableParallelism', 1),
  cpus: (): object[] => [],
  endianness: answers('endianness', 'LE'),
  freemem: answers('freemem', 0),
  getPriority: (): number => 0,
  homedir: answers('homedir', '/tmp'),
  hostname: answers('hostname', 'localhost'),
  loadavg: (): number[] => [0, 0, 0],
  machine: answers('machine', 'x86_64'),
  networkInterfaces: (): object => ({}),
  platform: answers('platform', 'linux'),
  release: answers('release', ''),
  setPriority(): never {
    throw codeError(Error, 'ERR_SYSTEM_ERROR', 'A system error occurred: uv_os_setpriority returned EACCES');
  },
  tmpdir: answers('tmpdir', '/tmp'),
  totalmem: answers('totalmem', 0),
  type: answers('type', 'Linux'),
  uptime: answers('uptime', 0),
  userInfo: (): object => ({ uid: -1, gid: -1, username: 'nobody', homedir: '/tmp', shell: null }),
  version: answers('version', ''),
};
