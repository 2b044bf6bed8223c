import { type BoundFile, withFiles as withBoundFiles } from '../../../benchmarks/hijacked/commands.js';
import type { Sandbox } from '../../../src/pool/sandbox/sandbox.js';

/** The sandbox with these files or folders in its root, and among those that it may open. */
export function withFiles(sandbox: Sandbox, files: readonly BoundFile[]): Sandbox {
  return { ...sandbox, command: start => withBoundFiles(sandbox.command(start), files) };
}

/** The sandbox without a layer that is words of its command. */
export function without(sandbox: Sandbox, isOfLayer: (word: string) => boolean): Sandbox {
  return { ...sandbox, command: start => sandbox.command(start).filter(word => !isOfLayer(word)) };
}

export function isLandlock(word: string): boolean {
  return /^--(?:landlock$|abi=|exec=|read=|write=)/.test(word);
}
