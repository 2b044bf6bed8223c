import test from 'ava';
import { CellSupervisor } from '../../src/pool/cell-supervisor.js';
import { FakeCell } from './fake-cell.js';

function supervised(spares: number): { readonly supervisor: CellSupervisor; readonly cells: FakeCell[] } {
  const cells: FakeCell[] = [];
  const supervisor = new CellSupervisor({
    account: 'a',
    spares,
    maxThreads: 16,
    heapBytes: 1,
    cellMemoryBytes: 1,
    onFinding() {},
    prepare: async () => {},
    create: (_options, events) => {
      const cell = new FakeCell(events);
      cells.push(cell);
      return cell;
    },
  });
  return { supervisor, cells };
}

const afterRefill = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)));

for (const spares of [0, 1, 3]) {
  test(`a cell whose leases run out is closed when its last isolate ends, with ${spares} spares`, async t => {
    const { supervisor, cells } = supervised(spares);
    for (let i = 0; i < 40; i++) {
      const handle = await supervisor.acquire();
      await afterRefill();
      handle.end();
    }
    t.true(cells.length > 4);
    const open = cells.filter(cell => !cell.isClosed);
    t.is(open.length, 1);
    t.true((open[0]?.running.size ?? 0) <= spares);
    await supervisor.close();
  });
}

test('a cell that is being replaced is closed when its last isolate ends by itself', async t => {
  const { supervisor, cells } = supervised(0);
  const handle = await supervisor.acquire();
  cells[0]?.events.onLinger();
  t.false(cells[0]?.isClosed);
  cells[0]?.events.onLeaseEnd(handle.lease, 'cpu', '');
  t.true(cells[0]?.isClosed);
  await supervisor.close();
});
