/** node:tty: a function has no terminal. */

function isatty(): boolean {
  return false;
}

export default { isatty };
