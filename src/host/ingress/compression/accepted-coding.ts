/** Which content coding a client takes, by its Accept-Encoding (RFC 9110, 12.5.3). */
import * as zlib from 'node:zlib';
import type { Algorithm, Algorithms } from '../../../hostnames/zone-compression.js';

export type Coding = 'br' | 'zstd' | 'gzip';

/** In the order in which they are taken where the client has no preference. zstd: Node 22.15, 23.8 and up. */
export const CODINGS: readonly Coding[] = 'createZstdCompress' in zlib ? ['br', 'zstd', 'gzip'] : ['br', 'gzip'];

export const NO_CODINGS: readonly Coding[] = [];

/** Clients send few different values. */
const MAX_KNOWN = 64;
const MAX_KNOWN_CHARACTERS = 256;
type Answers = Map<string, Coding | undefined>;

const known: Answers = new Map();
/** The answers by the lists of codings that zones ask for. */
const knownOfZones = new WeakMap<readonly Coding[], Answers>();

const CODING_OF: Readonly<Record<Algorithm, Coding>> = { brotli: 'br', zstd: 'zstd', gzip: 'gzip' };
const codingsOfZones = new WeakMap<Algorithms, readonly Coding[]>();

/** The codings that a zone asks for, as far as this Node has them. The answer is the same object for the same list. */
export function codingsOf(algorithms: Algorithms): readonly Coding[] {
  let codings = codingsOfZones.get(algorithms);
  if (codings === undefined) {
    codings = algorithms.map(algorithm => CODING_OF[algorithm]).filter(coding => CODINGS.includes(coding));
    codingsOfZones.set(algorithms, codings);
    knownOfZones.set(codings, new Map());
  }
  return codings;
}

/**
 * Undefined: the body is to be sent as it is.
 *
 * @param codings `CODINGS`, or an answer of codingsOf()
 */
export function acceptedCoding(header: string | undefined, codings = CODINGS): Coding | undefined {
  if (header === undefined || header === '') return undefined;
  if (header.length > MAX_KNOWN_CHARACTERS) return parse(header, codings);
  const answers = codings === CODINGS ? known : knownOfZones.get(codings);
  if (answers === undefined) return parse(header, codings);
  const found = answers.get(header);
  if (found !== undefined || answers.has(header)) return found;
  const coding = parse(header, codings);
  if (answers.size < MAX_KNOWN) answers.set(header, coding);
  return coding;
}

const ENTRY = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i;

function parse(header: string, codings: readonly Coding[]): Coding | undefined {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [, name, weight] = ENTRY.exec(part) ?? [];
    // A weight that cannot be read counts as refusal.
    if (name !== undefined) weights.set(name.toLowerCase(), weight === undefined ? 1 : Number(weight));
  }
  const any = weights.get('*') ?? 0;
  let best: Coding | undefined;
  let most = Math.max(weights.get('identity') ?? 0, Number.MIN_VALUE);
  for (const coding of codings) {
    const weight = weights.get(coding) ?? (coding === 'gzip' ? weights.get('x-gzip') : undefined) ?? any;
    // With equal weights, any coding is preferred to none, and the first of the list to the others.
    if (weight > most || (weight === most && best === undefined)) {
      best = coding;
      most = weight;
    }
  }
  return best;
}
