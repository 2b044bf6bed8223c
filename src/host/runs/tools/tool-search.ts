/**
 * Finds tools by words of their names, descriptions and fields. Own code, and no library: an index of tools needs no more than weighted words. Over 5,000
 * tools `minisearch` finds the same at twice the time (test/host/runs/tools/tool-search.test.ts), and brings 900 KB.
 *
 * Nothing secret is in the index, so the time of a search tells nothing but names and descriptions, which `types` shows anyway.
 */

import { isObject } from '../../../quotas/schema/describe.js';
import type { CompiledTool } from './compile-tools.js';
import { jsonSchemaOf } from './json-schema-of.js';

/** Characters of a text that are read. */
const MAX_TEXT = 1000;
const MAX_WORDS = 32;
/** Words of this length find longer ones that begin with them. */
const MIN_PREFIX = 3;
/** The most longer words for one word. */
const MAX_LONGER = 200;
const NAME_WEIGHT = 4;
const FIELD_WEIGHT = 2;
const TEXT_WEIGHT = 1;
const PREFIX_WEIGHT = 0.5;
/** Words that every sentence has. */
const COMMON: ReadonlySet<string> = new Set(
  'a an and are as at be by for from has have i in is it its of on or that the this to was will with you your'.split(
    ' ',
  ),
);

/** A tool by its number, and how much a word says of it. */
interface Hit {
  readonly number: number;
  readonly weight: number;
}

export class ToolSearch {
  readonly #tools: readonly CompiledTool[];
  readonly #hits: ReadonlyMap<string, readonly Hit[]>;
  /** All words, sorted: those that begin alike stand together. */
  readonly #words: readonly string[];

  constructor(tools: readonly CompiledTool[]) {
    this.#tools = tools;
    const hits = new Map<string, Hit[]>();
    for (const [number, tool] of tools.entries()) {
      for (const [word, weight] of weightsOf(tool)) {
        const known = hits.get(word);
        if (known === undefined) hits.set(word, [{ number, weight }]);
        else known.push({ number, weight });
      }
    }
    this.#hits = hits;
    this.#words = [...hits.keys()].sort();
  }

  /** The best first; tools that match equally well in their order. */
  find(text: string, limit: number): CompiledTool[] {
    const scores = new Map<number, number>();
    for (const word of new Set(wordsOf(text.slice(0, MAX_TEXT)).slice(0, MAX_WORDS))) {
      for (const known of this.#beginningWith(word)) {
        const hits = this.#hits.get(known) ?? [];
        // A rare word says more.
        const rarity = Math.log(1 + this.#tools.length / hits.length) * (known === word ? 1 : PREFIX_WEIGHT);
        for (const { number, weight } of hits) scores.set(number, (scores.get(number) ?? 0) + rarity * weight);
      }
    }
    return [...scores]
      .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b)
      .slice(0, limit)
      .flatMap(([number]) => this.#tools[number] ?? []);
  }

  /** The word, if a tool has it, and longer ones. */
  #beginningWith(word: string): readonly string[] {
    if (word.length < MIN_PREFIX) return this.#hits.has(word) ? [word] : [];
    let low = 0;
    let high = this.#words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#words[middle] ?? word) < word) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < low + MAX_LONGER && this.#words[end]?.startsWith(word) === true) end++;
    return this.#words.slice(low, end);
  }
}

/** The words of a tool. One that is in several places counts where it says most. */
function weightsOf({ name, description, input }: CompiledTool): Map<string, number> {
  const weights = new Map<string, number>();
  const add = (text: unknown, weight: number): void => {
    if (typeof text !== 'string') return;
    for (const word of wordsOf(text.slice(0, MAX_TEXT))) weights.set(word, Math.max(weights.get(word) ?? 0, weight));
  };
  add(name, NAME_WEIGHT);
  add(description, TEXT_WEIGHT);
  const properties = jsonSchemaOf(input, 'input')?.properties;
  for (const [field, schema] of Object.entries(isObject(properties) ? properties : {})) {
    add(field, FIELD_WEIGHT);
    if (isObject(schema)) add(schema.description, TEXT_WEIGHT);
  }
  return weights;
}

/** `crm.findUsers` has the words crm, find and user. */
function wordsOf(text: string): string[] {
  const words =
    text
      .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\d]+/gu) ?? [];
  return words
    .filter(word => !COMMON.has(word))
    .map(word => (word.length > 3 ? word.replace(/(?:ies|y)$/, 'i').replace(/s$/, '') : word));
}
