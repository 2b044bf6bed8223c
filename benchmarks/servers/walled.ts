/**
 * A host that says how long accounts and cells take to start behind the wall that it finds, and serves one function over HTTP. It measures in its own process,
 * which may have fewer rights than the harness.
 */
import { createServer } from 'node:http';
import { EdgeHost } from '../../src/index.js';
import { ProcessCell } from '../../src/pool/host/process-cell.js';
import { sandboxFor } from '../../src/pool/sandbox/sandbox.js';
import { settle } from '../measuring/process-cpu.js';
import { memoryOf } from '../measuring/process-memory.js';
import { callsPerSecond, timed } from '../measuring/workload.js';
import { cellPid } from '../subjects/host.js';
import { largeFunction, TEXT_FUNCTION } from '../subjects/sources.js';
import { answerMessages } from './answer-messages.js';

const CELL = { maxThreads: 4, heapBytes: 128 * 1024 * 1024, cellMemoryBytes: 512 * 1024 * 1024 };
const NO_EVENTS = { onLeaseEnd() {}, onLongTurn() {}, onTerminationOverdue() {}, onExit() {} };
const URL_TEXT = 'https://example.com/';

const host = new EdgeHost({ storage: ':memory:', warmCells: 0, spareIsolates: 0 });
let serial = 0;

/** Milliseconds from `load()` of a new account to its first answer. */
async function newAccount(): Promise<number> {
  const id = `account-${++serial}`;
  const account = host.account(id);
  const tookMs = await timed(async () => {
    const fn = await account.load(largeFunction(20, id));
    await (await fn.fetch(URL_TEXT)).text();
  });
  await host.removeAccount(id);
  return tookMs;
}

const firstMs = await newAccount();
const fn = await host.load(TEXT_FUNCTION);
const sandbox = await sandboxFor('auto');
const server = createServer(host.listener({ function: fn }));
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
const address = server.address();

answerMessages(
  {
    layers: async () => sandbox.state,
    /** The first account of this process, for which the sandbox was tried out. */
    firstAccount: async () => firstMs,
    newAccount,
    startCell: async () => {
      let cell: ProcessCell | undefined;
      const tookMs = await timed(async () => {
        cell = new ProcessCell(CELL, NO_EVENTS, sandbox);
        await cell.ready;
      });
      await cell?.close();
      return tookMs;
    },
    calls: async seconds => callsPerSecond(async () => (await fn.fetch(URL_TEXT)).text(), 64, Number(seconds)),
    /** MB of the cell of the function that is called, by PSS. */
    memory: async () => {
      const pid = cellPid(host);
      await settle(pid);
      return memoryOf(pid).pss;
    },
  },
  async () => {
    server.closeAllConnections();
    server.close();
    await host.close({ drainMs: 0 });
  },
  typeof address === 'object' ? address?.port : 0,
);
