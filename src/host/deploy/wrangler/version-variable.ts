/** The variable that names the version of a function: the same for the same modules, so that reading a file again changes nothing. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { ScriptSource } from '../deployment.js';

export interface VersionVariable {
  /** A UUID that is made of the modules. */
  readonly id: string;
  /** Empty: versions have no tags here. */
  readonly tag: string;
  /** The time of the last change of the main module, as an ISO date. */
  readonly timestamp: string;
}

export async function versionVariable(source: ScriptSource, mainFile: string): Promise<VersionVariable> {
  const hash = createHash('sha256');
  const modules = typeof source === 'string' ? { '': source } : source.modules;
  for (const [name, module] of Object.entries(modules)) {
    const content = typeof module === 'string' || module instanceof Uint8Array ? module : module.source;
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  const [a = '', b = '', c = '', d = '', e = ''] =
    hash
      .digest('hex')
      .match(/^(.{8})(.{4})(.{4})(.{4})(.{12})/)
      ?.slice(1) ?? [];
  const { mtime } = await stat(mainFile);
  return { id: `${a}-${b}-${c}-${d}-${e}`, tag: '', timestamp: mtime.toISOString() };
}
