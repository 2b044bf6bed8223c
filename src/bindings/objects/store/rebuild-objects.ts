/** After a repair: it counts the objects' data again, rebuilds the index of alarms, and gives up values that no object has. */
import type { LevelOperation } from '../../../storage/records/level-database.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { alarmRecord, decodeHead, encodeHead, type ObjectHead } from './object-head.js';
import { objectKeys, refOfHead } from './object-keys.js';

const PAGE = 100;

export async function rebuildObjects(storage: StorageContext): Promise<void> {
  const { records } = storage;
  const used = new Set<string>();
  const spaces = objectKeys.spaces();
  for await (const page of records.pages({ gte: spaces, lt: afterPrefix(spaces) }, PAGE)) {
    for (const [key, record] of page) {
      const account = decodeURIComponent(key.slice(spaces.length));
      await rebuildSpace(storage, account, record.toString(), used);
    }
  }
  await giveUpOthers(storage, used, objectKeys.allValues(), objectKeys.values);
  await giveUpOthers(storage, used, objectKeys.allPages(), objectKeys.pages);
}

async function rebuildSpace(storage: StorageContext, account: string, space: string, used: Set<string>): Promise<void> {
  const { records } = storage;
  const alarms = objectKeys.alarms(space);
  for await (const page of records.pages({ gte: alarms, lt: afterPrefix(alarms) }, PAGE)) {
    await records.commit(page.map(([key]): LevelOperation => ({ type: 'del', key })));
  }
  const heads = objectKeys.heads(space);
  for await (const page of records.pages({ gte: heads, lt: afterPrefix(heads) }, PAGE)) {
    const operations: LevelOperation[] = [];
    for (const [key, record] of page) {
      const head = decodeHead(record);
      used.add(head.valuesId);
      const counted: ObjectHead = { ...head, ...(await countValues(storage, head.valuesId)) };
      if (counted.keys + counted.sqlPages === 0 && counted.alarm === undefined) {
        operations.push({ type: 'del', key });
        continue;
      }
      if (counted.keys !== head.keys || counted.bytes !== head.bytes || counted.sqlPages !== head.sqlPages)
        operations.push({ type: 'put', key, value: encodeHead(counted) });
      if (counted.alarm === undefined) continue;
      const ref = { account, ...refOfHead(key, space) };
      operations.push({
        type: 'put',
        key: objectKeys.alarm(space, ref, counted.alarm.dueMs),
        value: alarmRecord(counted.alarm),
      });
    }
    if (operations.length > 0) await records.commit(operations);
  }
}

async function countValues(
  { records }: StorageContext,
  valuesId: string,
): Promise<{ bytes: number; keys: number; sqlPages: number }> {
  const root = objectKeys.values(valuesId);
  const sum = { bytes: 0, keys: 0, sqlPages: 0 };
  for await (const page of records.pages({ gte: root, lt: afterPrefix(root) }, PAGE)) {
    for (const [key, value] of page) sum.bytes += Buffer.byteLength(key) - root.length + value.byteLength;
    sum.keys += page.length;
  }
  const pages = objectKeys.pages(valuesId);
  for await (const page of records.pages({ gte: pages, lt: afterPrefix(pages) }, PAGE)) sum.sqlPages += page.length;
  return sum;
}

/** Values whose object was lost, or whose removal was. */
async function giveUpOthers(
  { records }: StorageContext,
  used: ReadonlySet<string>,
  prefix: string,
  rootOf: (valuesId: string) => string,
): Promise<void> {
  const end = afterPrefix(prefix);
  for (let gte = prefix; ; ) {
    const keys = await records.keys({ gte, lt: end });
    const [key] = await keys.nextv(1).finally(() => keys.close());
    if (key === undefined) return;
    const valuesId = key.slice(prefix.length, key.indexOf('/', prefix.length));
    if (!used.has(valuesId)) await records.commit([{ type: 'put', key: objectKeys.gone(valuesId), value: NO_BYTES }]);
    gte = afterPrefix(rootOf(valuesId));
  }
}
