/** The option `sandbox`: a mode, or a command of the owner's own. */
import { isAbsolute } from 'node:path';
import type { SandboxOption } from '../../pool/sandbox/sandbox.js';
import { choice, list, object, refined, type Schema, text, union } from '../../quotas/schema/schema.js';

/** A program and its arguments. No part has a zero, which would end it for the operating system. */
const COMMAND: Schema<readonly string[]> = refined(
  list(text({ pattern: '^[^\\u0000]+$', description: 'a string that is not empty and has no zero character' }), {
    minItems: 1,
    description: 'an array of a program, by an absolute path or a name in PATH, and its arguments',
  }),
  // A path that depends on the working directory would be another program after a change of it.
  ([program = '']) =>
    program.includes('/') && !isAbsolute(program) ? `${JSON.stringify(program)} is a relative path` : undefined,
);

export const SANDBOX: Schema<SandboxOption> = union([choice(['auto', 'strict', 'off']), object({ command: COMMAND })], {
  description: "one of 'auto', 'strict', 'off', or { command: [program, ...arguments] }",
});
