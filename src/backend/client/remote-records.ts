/** The records of a storage in the backend process. A range is read page by page: meanwhile written records may be in later pages. */
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { StoreRecords } from '../host-store.js';
import type { RemoteLink } from './remote-link.js';

const PAGE_RECORDS = 1000;

export function remoteRecords(link: RemoteLink): StoreRecords {
  return {
    get: key => link.call('records.get', key),
    getMany: keys => link.call('records.getMany', keys),
    commit: operations => link.call('records.commit', operations),
    async *pages({ gte, lt }, size = PAGE_RECORDS, _view, work) {
      let from = gte;
      for (;;) {
        const turn = work?.turn();
        if (turn !== undefined) await turn;
        const page = await link.call('records.page', { gte: from, lt }, size);
        const last = page.at(-1);
        if (last === undefined) return;
        work?.charge(HOST_COSTS.callMs + page.length * HOST_COSTS.nextRecordMs);
        yield page;
        from = after(last[0]);
      }
    },
    async keys({ gte, lt }) {
      let from = gte;
      return {
        async nextv(size) {
          const keys = await link.call('records.keys', { gte: from, lt }, size);
          from = after(keys.at(-1) ?? from);
          return keys;
        },
        close: async () => {},
      };
    },
  };
}

/** The first string that comes after. */
function after(key: string): string {
  return `${key}\0`;
}
