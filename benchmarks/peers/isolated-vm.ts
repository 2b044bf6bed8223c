import process from 'node:process';
import { exportOf, type Peer } from './peer.js';

interface Reference {
  apply(receiver: undefined, args: readonly string[], options: object): Promise<unknown>;
}

/** The part of isolated-vm that is used here. */
type IsolateClass = new (options: {
  memoryLimit: number;
}) => {
  createContext(): Promise<{ readonly global: { get(name: string, options: object): Promise<Reference> } }>;
  compileScript(source: string): Promise<{ run(context: object): Promise<unknown> }>;
  dispose(): void;
};

/** It has no web APIs; the script gets as much of them as it uses. */
const SHIMS = `
class URL { constructor(text) { this.pathname = text.replace(/^[a-z]+:\\/\\/[^/]*/, '').replace(/\\?.*/, ''); this.searchParams = new Map(); } }
class Response { constructor(body) { this.body = body; } }
`;

export const isolatedVm: Peer = {
  name: 'isolated-vm',
  packages: [Number(process.versions.node.split('.')[0]) < 22 ? 'isolated-vm@5' : 'isolated-vm'],
  note: 'No web APIs: a URL goes in and a text comes back.',
  hasBucket: false,
  async load(folder, source) {
    const Isolate = exportOf(folder, 'isolated-vm', 'Isolate') as IsolateClass; // as its documentation says
    const isolate = new Isolate({ memoryLimit: 128 });
    const context = await isolate.createContext();
    const script = `(() => {${SHIMS}${source.replace('export default', 'const entry =')}
globalThis.call = url => entry.fetch({ url }).body;
})()`;
    await (await isolate.compileScript(script)).run(context);
    const call = await context.global.get('call', { reference: true });
    return {
      call: async url => String(await call.apply(undefined, [url], { result: { copy: true } })),
      close: async () => isolate.dispose(),
    };
  },
};
