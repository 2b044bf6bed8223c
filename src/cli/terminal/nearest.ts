import { distanceOf } from '../../quotas/schema/nearest-name.js';

/** More edits than this are another word. */
const MAX_EDITS = 2;

/** The candidate that was probably meant: the text begins it, or differs from it by the fewest letters, two at most. */
export function nearestOf(text: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  // A word of two letters is not meant by another one of two letters.
  let least = Math.min(MAX_EDITS, Math.floor(text.length / 2)) + 1;
  for (const candidate of candidates) {
    const edits = candidate.startsWith(text) && text.length >= 2 ? 1 : distanceOf(text, candidate, least);
    if (edits < least) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest;
}
