import { CALLED_FUNCTION, PLATFORM_FUNCTION } from '../subjects/platform-functions.js';
import { exportOf, type Peer } from './peer.js';

interface WorkerOptions {
  name?: string;
  modules: true;
  script: string;
  compatibilityDate: string;
  r2Buckets?: string[];
  kvNamespaces?: string[];
  serviceBindings?: Record<string, string>;
}

/** The part of miniflare 4 that is used here. */
type MiniflareClass = new (
  options:
    | (WorkerOptions & { r2Persist?: string })
    | { workers: WorkerOptions[]; kvPersist: string; cachePersist: string },
) => {
  readonly ready: Promise<URL>;
  dispatchFetch(url: string): Promise<{ text(): Promise<string> }>;
  dispose(): Promise<void>;
};

/** Calls of methods need a date from April 2024 on. */
const PLATFORM = { modules: true, compatibilityDate: '2024-09-01' } as const;

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
  async loadPlatform(folder, data) {
    const Miniflare = exportOf(folder, 'miniflare', 'Miniflare') as MiniflareClass; // as its documentation says
    const instance = new Miniflare({
      kvPersist: data,
      cachePersist: data,
      workers: [
        {
          ...PLATFORM,
          name: 'platform',
          script: PLATFORM_FUNCTION,
          kvNamespaces: ['KV'],
          serviceBindings: { B: 'called' },
        },
        { ...PLATFORM, name: 'called', script: CALLED_FUNCTION },
      ],
    });
    await instance.ready;
    return {
      call: async target => (await instance.dispatchFetch(target)).text(),
      close: () => instance.dispose(),
    };
  },
};
