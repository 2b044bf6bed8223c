/** The option `sandbox`, checked: a mode, or a command of the owner's own. */
import { isAbsolute } from 'node:path';
import type { SandboxOption } from '../pool/sandbox/sandbox.js';
import { describe, isPlainObject } from './check-options.js';

const MODES = ['auto', 'strict', 'off'] as const;
const EXPECTED = "expected one of 'auto', 'strict', 'off', or { command: [program, ...arguments] }";

/** @default 'auto' */
export function checkSandbox(where: string, value: unknown): SandboxOption {
  if (value === undefined) return 'auto';
  const mode = MODES.find(known => known === value);
  if (mode !== undefined) return mode;
  if (!isPlainObject(value)) throw new TypeError(`Option sandbox of ${where} is ${describe(value)}, ${EXPECTED}`);
  const unknown = Object.keys(value).find(key => key !== 'command');
  if (unknown !== undefined) throw new TypeError(`Option sandbox of ${where} has no part "${unknown}", ${EXPECTED}`);
  return Object.freeze({ command: checkCommand(where, value.command) });
}

function checkCommand(where: string, command: unknown): readonly string[] {
  const name = `Option sandbox.command of ${where}`;
  if (!Array.isArray(command) || command.length === 0) {
    throw new TypeError(`${name} is ${describe(command)}, expected an array of a program and its arguments`);
  }
  const parts = command.map((part: unknown, index) => {
    if (typeof part === 'string' && part !== '' && !part.includes('\0')) return part;
    throw new TypeError(
      `Part ${index} of option sandbox.command of ${where} is ${describe(part)}, expected a string that is not empty`,
    );
  });
  const [program = ''] = parts;
  // A path that depends on the working directory would be another program after a change of it.
  if (program.includes('/') && !isAbsolute(program)) {
    throw new TypeError(`${name} begins with ${describe(program)}, expected an absolute path or a name in PATH`);
  }
  return Object.freeze(parts);
}
