/** The names under which older libraries import parts of node:http, such as `_http_common`. */
import http, { internals } from './http.ts';

export default { ...http, ...internals };
