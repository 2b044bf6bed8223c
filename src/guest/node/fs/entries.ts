/** Files, directories, symbolic links and devices, in the memory of the isolate. */
import { Op } from '../../../isolate/ops/table.ts';
import { opBytes, opString } from '../../bridge.ts';
import { wallNow } from '../../web/base/clock.ts';

interface Facts {
  readonly ino: number;
  /** The permissions alone. */
  mode: number;
  uid: number;
  gid: number;
  atimeMs: number;
  mtimeMs: number;
  ctimeMs: number;
  readonly birthtimeMs: number;
  /** The names that it has. */
  links: number;
  /** The open descriptors of it. */
  opens: number;
}

export interface FileEntry extends Facts {
  readonly kind: 'file';
  /** The content, and room for more of it. */
  bytes: Uint8Array;
  size: number;
  /** The index of a module of the deployment, which the host realm has, and which cannot be changed. */
  readonly module: number | undefined;
}

export interface DirectoryEntry extends Facts {
  readonly kind: 'directory';
  readonly entries: Map<string, TreeEntry>;
  readonly isWritable: boolean;
}

export interface LinkEntry extends Facts {
  readonly kind: 'link';
  readonly target: string;
}

export type DeviceName = 'null' | 'zero' | 'full' | 'random';

export interface DeviceEntry extends Facts {
  readonly kind: 'device';
  readonly name: DeviceName;
}

export type TreeEntry = FileEntry | DirectoryEntry | LinkEntry | DeviceEntry;

const NONE = new Uint8Array(0);
let lastIno = 0;

function facts(mode: number, nowMs: number): Facts {
  const times = { atimeMs: nowMs, mtimeMs: nowMs, ctimeMs: nowMs, birthtimeMs: nowMs };
  return { ino: ++lastIno, mode, uid: 0, gid: 0, ...times, links: 1, opens: 0 };
}

export function newFile(mode: number): FileEntry {
  return { kind: 'file', bytes: NONE, size: 0, module: undefined, ...facts(mode, wallNow()) };
}

export function newDirectory(mode: number): DirectoryEntry {
  return { kind: 'directory', entries: new Map(), isWritable: true, ...facts(mode, wallNow()) };
}

export function newLink(target: string): LinkEntry {
  return { kind: 'link', target, ...facts(0o777, wallNow()) };
}

/** A directory that only the runtime fills. Its times and the times of its entries are the start of the epoch. */
function fixedDirectory(entries: Iterable<readonly [string, TreeEntry]>): DirectoryEntry {
  return { kind: 'directory', entries: new Map(entries), isWritable: false, ...facts(0o555, 0) };
}

const DEVICES: readonly DeviceName[] = ['null', 'zero', 'full', 'random'];
let dev: DirectoryEntry | undefined;
let bundle: DirectoryEntry | undefined;

function devDirectory(): DirectoryEntry {
  dev ??= fixedDirectory(DEVICES.map(name => [name, { kind: 'device', name, ...facts(0o666, 0) }]));
  return dev;
}

/** The modules of the deployment, by the parts of their names. */
function bundleDirectory(): DirectoryEntry {
  if (bundle !== undefined) return bundle;
  bundle = fixedDirectory([]);
  const modules: readonly (readonly [name: string, size: number])[] = JSON.parse(opString(Op.ModuleNames));
  modules.forEach(([name, size], module) => {
    const parts = name.split('/').filter(part => part !== '' && part !== '.');
    const last = parts.pop();
    // A name that leaves the folder, or that goes through a file, has no path.
    if (last === undefined || last === '..' || parts.includes('..')) return;
    let directory = bundle;
    for (const part of parts) {
      if (directory === undefined) return;
      let inner = directory.entries.get(part);
      if (inner === undefined) {
        inner = fixedDirectory([]);
        directory.entries.set(part, inner);
      }
      directory = inner.kind === 'directory' ? inner : undefined;
    }
    if (directory === undefined || directory.entries.has(last)) return;
    directory.entries.set(last, { kind: 'file', bytes: NONE, size, module, ...facts(0o444, 0) });
  });
  return bundle;
}

export function newRoot(): DirectoryEntry {
  return fixedDirectory([
    ['bundle', bundleDirectory()],
    ['dev', devDirectory()],
    ['tmp', newDirectory(0o777)],
  ]);
}

/** The content of a file; a copy, if it is a module. */
export function contentOf(file: FileEntry): Uint8Array {
  return file.module === undefined ? file.bytes.subarray(0, file.size) : opBytes(Op.ModuleBytes, file.module);
}
