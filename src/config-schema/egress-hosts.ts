/** Entries of the option `egress.hosts`, as they are written, and as they are compared. */
import { isIP } from 'node:net';
import type { EgressHost } from '../bindings/egress/rules/egress-rules.js';
import { type HostEntry, isAmbiguous } from '../bindings/egress/rules/host-entry.js';
import { normalName } from '../hostnames/host-names.js';

const PORT = /:(\d{1,5})$/;

/** The schema has said of any other value that it is no text. */
export function whyNotHost(entry: unknown): string | undefined {
  if (typeof entry !== 'string') return undefined;
  const { name, port } = partsOf(entry);
  if (port !== undefined && !(port >= 1 && port <= 65_535)) return 'its port is not one from 1 to 65535';
  if (name === '*') return undefined;
  const isWildcard = name.startsWith('*.');
  const normal = hostNameOf(isWildcard ? name.slice(2) : name);
  if (normal === undefined) return 'it is neither a host name nor an address, with a port at most';
  return isWildcard && isIP(normal) !== 0 ? 'addresses have none below them' : undefined;
}

export function whyNotPath(path: unknown): string | undefined {
  if (typeof path !== 'string') return undefined;
  const text = path.endsWith('*') ? path.slice(0, -1) : path;
  if (text.includes('*')) return 'a "*" stands at its end alone';
  if (/[?#]/.test(text)) return 'a query is not part of it';
  return isAmbiguous(text) ? 'servers read it in several ways' : undefined;
}

/** An entry that the schema has checked. */
export function hostEntry(given: string | EgressHost): HostEntry {
  const { host, ports, paths, methods } = typeof given === 'string' ? { host: given } : given;
  const { name, port } = partsOf(host);
  const all = port === undefined ? ports : [port, ...(ports ?? [])];
  return {
    host: normalEntry(name),
    ...(all !== undefined && { ports: all }),
    ...(paths !== undefined && { paths: paths.map(normalPath) }),
    ...(methods !== undefined && { methods: methods.map(method => method.toUpperCase()) }),
  };
}

function partsOf(entry: string): { name: string; port: number | undefined } {
  // Colons belong to an address, unless it is in brackets.
  if (isIP(entry) === 6) return { name: entry, port: undefined };
  const port = PORT.exec(entry);
  return port === null ? { name: entry, port: undefined } : { name: entry.slice(0, port.index), port: Number(port[1]) };
}

function normalEntry(name: string): string {
  if (name === '*') return name;
  if (name.startsWith('*.')) return `*.${hostNameOf(name.slice(2)) ?? ''}`;
  return hostNameOf(name) ?? '';
}

/** Without the brackets that addresses have in URLs. */
function hostNameOf(text: string): string | undefined {
  return normalName(isIP(text) === 6 ? `[${text}]` : text)?.replace(/^\[|\]$/g, '');
}

function normalPath(path: string): string {
  const isPrefix = path.endsWith('*');
  const { pathname } = new URL(isPrefix ? path.slice(0, -1) : path, 'http://host/');
  return isPrefix ? `${pathname}*` : pathname;
}
