/** The library `url` writes queries with `qs`; Node with its own module. */
import querystring from './querystring.ts';

export default {
  parse: (text: string): object => querystring.parse(text),
  stringify: (fields: unknown): string => querystring.stringify(fields),
};
