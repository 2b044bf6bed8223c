/**
 * Looks for import() in the modules of a deployment, once for all of its isolates: each place found here saves the isolates from parsing the text another time.
 * The work is charged to the account, and leaves room for other work of the host.
 */
import { setImmediate } from 'node:timers/promises';
import { MAX_USES, mayImport, scanImports } from '../../isolate/imports/import-scan.js';
import type { ModuleHead } from '../../protocol/messages.js';
import type { Deployment } from './deployment.js';

/** The part of the account's HostShare that it uses. */
export interface ScanShare {
  readonly bytes: { countHeap(bytes: number): void };
  charge(ms: number): void;
  turn(): Promise<void> | undefined;
}

export async function scanModules(
  { modules, body }: Pick<Deployment, 'modules' | 'body'>,
  share: ScanShare,
): Promise<ModuleHead[]> {
  const scanned: ModuleHead[] = [];
  let at = 0;
  let usesLeft = MAX_USES;
  for (const module of modules) {
    const bytes = body.subarray(at, at + module.bytes);
    at += module.bytes;
    const imports =
      module.kind === 'esm' || module.kind === 'script' ? await usesIn(bytes, share, usesLeft) : undefined;
    usesLeft -= imports?.length ?? 0;
    scanned.push(imports === undefined ? module : { ...module, imports });
  }
  return scanned;
}

async function usesIn(bytes: Uint8Array, share: ScanShare, maxUses: number): Promise<string | undefined> {
  let beganMs = performance.now();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  if (!mayImport(text)) {
    share.charge(performance.now() - beganMs);
    return undefined;
  }
  // Two bytes a character is the most.
  const heldBytes = text.length * 2;
  share.bytes.countHeap(heldBytes);
  try {
    const scan = scanImports(text, maxUses);
    for (;;) {
      const { done, value } = scan.next();
      share.charge(performance.now() - beganMs);
      if (done === true) return value;
      await setImmediate();
      await share.turn();
      beganMs = performance.now();
    }
  } finally {
    share.bytes.countHeap(-heldBytes);
  }
}
