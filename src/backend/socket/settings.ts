/** The settings that an application passes to the backend process that it starts, on its command line. */
import { isObject } from '../../quotas/schema/describe.js';

export interface ProcessSettings {
  /** Under this name the application has made the file of its words. */
  readonly name: string;
  /** The id of the process of the application, which has ended when this process has another parent. */
  readonly parent: number;
  /** The package version of the application. */
  readonly version: string;
  /** How long the process stays without an application. */
  readonly graceMs: number;
  /** The most connections at a time: those from applications, and those from cells. */
  readonly maxConnections: number;
}

/** The process ends with this code when it could not begin, and its last line says why: see {@link failureLine}. */
export const FAILED_EXIT_CODE = 3;

/** @throws TypeError */
export function parseSettings(text: string | undefined): ProcessSettings {
  const value: unknown = JSON.parse(text ?? 'null');
  if (isObject(value)) {
    const { name, version, parent, graceMs, maxConnections } = value;
    if (typeof name === 'string' && /^[\w-]+$/.test(name) && typeof version === 'string')
      if (typeof parent === 'number' && typeof graceMs === 'number' && typeof maxConnections === 'number')
        return { name, version, parent, graceMs, maxConnections };
  }
  throw new TypeError('The backend process is started by EdgeHost: expected a directory and settings as arguments');
}

/** Why a process could not begin, for the application that started it. */
export interface StartFailure {
  readonly code: string;
  readonly message: string;
}

export function failureLine(failure: StartFailure): string {
  return `${JSON.stringify(failure)}\n`;
}

/** Parses the report of a process that ended with {@link FAILED_EXIT_CODE}. */
export function parseFailure(words: string): StartFailure | undefined {
  try {
    const value: unknown = JSON.parse(words.trimEnd().split('\n').at(-1) ?? '');
    if (!isObject(value) || typeof value.code !== 'string' || typeof value.message !== 'string') return undefined;
    return { code: value.code, message: value.message };
  } catch {
    return undefined;
  }
}
