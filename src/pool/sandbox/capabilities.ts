/** The rights of root that this process has. Containers mostly leave it only some of them. */
import { readFileSync } from 'node:fs';

const CAP_NET_ADMIN = 12n;
const CAP_SYS_ADMIN = 21n;

/** Whether it may make namespaces without being root of a user namespace of its own. True where it is unknown. */
export function mayMakeNamespaces(status: string = ownStatus()): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined) return true;
  const held = BigInt(`0x${effective}`);
  return [CAP_SYS_ADMIN, CAP_NET_ADMIN].every(capability => ((held >> capability) & 1n) === 1n);
}

function ownStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    return '';
  }
}
