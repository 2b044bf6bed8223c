import type { ExecutionContext } from 'ava';
import type { AccountSandbox, SandboxOptions } from '../../src/index.js';
import { newHost } from '../host/new-host.js';

/** A sandbox of a host of its own. */
export function newBox(t: ExecutionContext, options?: SandboxOptions): AccountSandbox {
  return newHost(t).account('acme').sandbox(options);
}
