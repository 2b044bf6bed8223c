import { exportOf, type Peer } from './peer.js';

/** The part of @edge-runtime/vm that is used here. */
type EdgeVmClass = new (options: {
  initialCode: string;
}) => {
  dispatchFetch(url: string): Promise<{ text(): Promise<string> }>;
};

export const edgeRuntime: Peer = {
  name: 'edge-runtime',
  packages: ['@edge-runtime/vm'],
  note: 'A context of the calling thread, without limits of CPU time or memory.',
  hasBucket: false,
  async load(folder, source) {
    const EdgeVM = exportOf(folder, '@edge-runtime/vm', 'EdgeVM') as EdgeVmClass; // as its documentation says
    const initialCode = `${source.replace('export default', 'const entry =')}
addEventListener('fetch', event => event.respondWith(entry.fetch(event.request)));`;
    const vm = new EdgeVM({ initialCode });
    return { call: async url => (await vm.dispatchFetch(url)).text(), close: async () => {} };
  },
};
