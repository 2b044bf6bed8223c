import { type BoundFile, withFiles as withBoundFiles } from '../../../benchmarks/hijacked/commands.js';
import type { Sandbox } from '../../../src/pool/sandbox/sandbox.js';

/** The sandbox with these files or folders in its root. Nothing changes without a root. */
export function withFiles(sandbox: Sandbox, files: readonly BoundFile[]): Sandbox {
  return { ...sandbox, command: (id, filterFd) => withBoundFiles(sandbox.command(id, filterFd), files) };
}
