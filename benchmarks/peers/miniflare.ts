import { exportOf, type Peer } from './peer.js';

/** The part of miniflare 4 that is used here. */
type MiniflareClass = new (options: {
  modules: true;
  script: string;
  compatibilityDate: string;
  r2Buckets?: string[];
  r2Persist?: string;
}) => {
  readonly ready: Promise<URL>;
  dispatchFetch(url: string): Promise<{ text(): Promise<string> }>;
  dispose(): Promise<void>;
};

export const miniflare: Peer = {
  name: 'miniflare',
  packages: ['miniflare@4'],
  note: 'HTTP is its own server, with workerd behind it.',
  hasBucket: true,
  async load(folder, script, data) {
    const Miniflare = exportOf(folder, 'miniflare', 'Miniflare') as MiniflareClass; // as its documentation says
    const options = { modules: true, script, compatibilityDate: '2024-01-01' } as const;
    const instance = new Miniflare(
      data === undefined ? options : { ...options, r2Buckets: ['FILES'], r2Persist: data },
    );
    const url = String(await instance.ready);
    return {
      call: async target => (await instance.dispatchFetch(target)).text(),
      url,
      close: () => instance.dispose(),
    };
  },
};
