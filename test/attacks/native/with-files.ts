import { type BoundFile, withFiles as withBoundFiles } from '../../../benchmarks/hijacked/commands.js';
import type { Sandbox } from '../../../src/pool/sandbox/sandbox.js';

/** The sandbox with these files or folders in its root, and among those that it may open. */
export function withFiles(sandbox: Sandbox, files: readonly BoundFile[]): Sandbox {
  return { ...sandbox, command: start => withBoundFiles(sandbox.command(start), files) };
}
