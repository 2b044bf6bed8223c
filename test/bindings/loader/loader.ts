/** A function with a loader, and what its code says about it. */
import type { EdgeFunction, EdgeHost, LoadOptions } from '../../../src/index.js';
import { textOf } from '../../host/new-host.js';

/** The functions of these tests begin with it. */
const LEAD = `import { FunctionEntrypoint, RpcTarget } from 'edgehost:workers';
const fails = async promise => { try { await (promise instanceof Function ? promise() : promise); return 'no error'; } catch (error) { return [error.code, error.name, error.message].filter(Boolean).join(': '); } };
const js = (text, more) => ({ mainModule: 'main.js', modules: { 'main.js': text }, ...more });
const HELLO = 'export default { fetch(request) { return new Response("hello " + new URL(request.url).pathname); } }';
`;

export interface Loading {
  /** Exports besides the default one. */
  readonly more?: string;
  readonly options?: LoadOptions;
}

export function loadLoading(host: EdgeHost, body: string, { more = '', options }: Loading = {}): Promise<EdgeFunction> {
  const source = `${LEAD}${more}
export default { async fetch(request, env, ctx) { ${body} } };`;
  return host.load(source, { name: 'agent', loaders: { LOADER: {} }, ...options });
}

/** The text that the handler answers. */
export async function answerOf(host: EdgeHost, body: string, loading?: Loading): Promise<string> {
  return textOf((await loadLoading(host, body, loading)).fetch('http://x/'));
}

/** The JSON value that the handler answers. */
export async function jsonOf(host: EdgeHost, body: string, loading?: Loading): Promise<unknown> {
  return JSON.parse(await answerOf(host, body, loading));
}
