/** Values that the application hands to a function along with a request or a call: its props, and facts about the request. */

import { PROPS } from '../../config-schema/function-shapes.js';
import { asciiJson } from '../../protocol/ascii-json.js';
import { complaintAbout } from '../../quotas/schema/check.js';
import { sentence } from '../../quotas/schema/complaint.js';
import type { FetchInput } from './fetch-input.js';

/** With everything else they have to fit the frame of a request's head. */
const MAX_CHARACTERS = 64 * 1024;

/**
 * The same request with props: as a pair behind the URL whose name is empty, which no client can send.
 *
 * @throws TypeError for what JSON cannot hold, RangeError for more than 64 KiB of it
 */
export function withProps(input: FetchInput, props: unknown): FetchInput {
  checkProps('fetch()', props);
  const text = asciiJson(props);
  if (text.length > MAX_CHARACTERS) {
    throw new RangeError(
      `Option props of fetch() has ${text.length} characters as JSON, at most ${MAX_CHARACTERS} are allowed`,
    );
  }
  const [method = '', url = '', ...headers] = input.head.split('\n');
  return { ...input, head: [method, url, '', text, ...headers].join('\n'), props: JSON.parse(text) };
}

/** Facts about a connection are few and short. */
const MAX_CF_CHARACTERS = 16 * 1024;

/**
 * The same request with the application's facts about it, which the function finds in `request.cf`: as a pair behind the URL whose name is empty, too.
 *
 * @throws TypeError for what JSON cannot hold, RangeError for more than 16 KiB of it
 */
export function withCf(input: FetchInput, cf: unknown): FetchInput {
  const complaint = complaintAbout(PROPS, cf);
  if (complaint !== undefined) {
    const place = 'Option cf of fetch()';
    throw new TypeError(sentence(complaint, { place: () => place, owner: place, member: 'key' }));
  }
  const text = asciiJson(cf);
  if (text.length > MAX_CF_CHARACTERS) {
    throw new RangeError(
      `Option cf of fetch() has ${text.length} characters as JSON, at most ${MAX_CF_CHARACTERS} are allowed`,
    );
  }
  const [method = '', url = '', ...headers] = input.head.split('\n');
  return { ...input, head: [method, url, '', `@${text}`, ...headers].join('\n') };
}

/** @throws TypeError for a value that is no JSON object */
export function checkProps(method: 'fetch()' | 'rpcTo()', props: unknown): void {
  const complaint = complaintAbout(PROPS, props);
  if (complaint === undefined) return;
  const place = `Option props of ${method}`;
  throw new TypeError(sentence(complaint, { place: () => place, owner: place, member: 'key' }));
}
