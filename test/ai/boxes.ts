import type { ExecutionContext } from 'ava';
import type { Sandbox, SandboxOptions } from '../../src/index.js';
import { newHost } from '../host/new-host.js';

/** A sandbox of a host of its own. */
export function newBox(t: ExecutionContext, options?: SandboxOptions): Sandbox {
  return newHost(t).account('acme').sandbox(options);
}
