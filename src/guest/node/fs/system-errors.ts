/** The errors of the operating system, as Node has them. */

const ERRORS = {
  EACCES: [13, 'permission denied'],
  EBADF: [9, 'bad file descriptor'],
  EEXIST: [17, 'file already exists'],
  EINVAL: [22, 'invalid argument'],
  EISDIR: [21, 'illegal operation on a directory'],
  ELOOP: [40, 'too many symbolic links encountered'],
  EMFILE: [24, 'too many open files'],
  ENAMETOOLONG: [36, 'name too long'],
  ENOENT: [2, 'no such file or directory'],
  ENOSPC: [28, 'no space left on device'],
  ENOTDIR: [20, 'not a directory'],
  ENOTEMPTY: [39, 'directory not empty'],
  EPERM: [1, 'operation not permitted'],
} as const;

export type SystemErrorCode = keyof typeof ERRORS;

export function systemError(code: SystemErrorCode, syscall: string, path?: string, dest?: string): Error {
  const [errno, text] = ERRORS[code];
  let message = `${code}: ${text}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const fields = {
    errno: -errno,
    code,
    syscall,
    ...(path !== undefined && { path }),
    ...(dest !== undefined && { dest }),
  };
  return Object.assign(new Error(message), fields);
}

/** Whether the error says that an operation failed, and not that its arguments are wrong. */
export function isFailure(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && ('syscall' in error || Reflect.get(error, 'code') === 'ABORT_ERR')
  );
}
