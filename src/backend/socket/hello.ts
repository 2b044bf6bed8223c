/**
 * The first line of every connection to a backend process, as JSON. Lines of other releases of the package come here too, so that what a `watch` and its
 * answer have must stay readable for good: it is how two versions find out that they are two.
 */
import { isObject } from '../../quotas/schema/describe.js';

/** The longest first line, in bytes. */
export const MAX_HELLO_BYTES = 4096;
const MAX_NAME_CHARACTERS = 128;

/** The connection by which an application is counted, and sees that the process is alive. It is answered with a {@link Welcome}. */
export interface WatchHello {
  readonly kind: 'watch';
  /** The version of the package. */
  readonly version: string;
  /** A name that the application has chosen, as no other has it. */
  readonly application: string;
}

/** The control connection of an application that has a watch. The bytes behind the line are not read here. */
export interface ControlHello {
  readonly kind: 'application';
  readonly application: string;
}

/** A connection that the application opens for a cell, and hands to it. The bytes behind the line are not read here. */
export interface CellHello {
  readonly kind: 'cell';
  readonly application: string;
  /** How the application names the connection. */
  readonly connection: string;
}

export type Hello = WatchHello | ControlHello | CellHello;

/** The answer to a watch. The process closes the connection after it when the versions differ. */
export interface Welcome {
  /** The package version of the process. */
  readonly version: string;
  readonly pid: number;
  readonly isAccepted: boolean;
}

export enum Beat {
  /** The application asks whether the process is alive. */
  Ping = 0x3f,
  Pong = 0x21,
  /** The application leaves, and when no other is there the process ends at once. */
  Leave = 0x2e,
}

export function lineOf(value: Hello | Welcome): string {
  return `${JSON.stringify(value)}\n`;
}

/** Undefined for a line that is no hello. */
export function parseHello(line: string): Hello | undefined {
  const { kind, version, application, connection } = fieldsOf(line);
  if (!isName(application)) return undefined;
  switch (kind) {
    case 'watch':
      return isName(version) ? { kind, version, application } : undefined;
    case 'application':
      return { kind, application };
    case 'cell':
      return isName(connection) ? { kind, application, connection } : undefined;
    default:
      return undefined;
  }
}

/** Undefined for a line that is no welcome. */
export function parseWelcome(line: string): Welcome | undefined {
  const { version, pid, isAccepted } = fieldsOf(line);
  if (!isName(version) || typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  return { version, pid, isAccepted: isAccepted === true };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME_CHARACTERS;
}

function fieldsOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
