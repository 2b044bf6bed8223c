import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { QueueEngine } from '../../../src/bindings/queue/broker.js';
import { queueStorage } from '../../../src/bindings/queue/store/queue-storage.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { openQueues } from './open-queues.js';
import { temporaryFolder } from './temporary-folder.js';

const ROUNDS = Number(process.env.EDGEHOST_KILLS ?? 4);

/** What has been said of the messages, over all rounds. */
interface Said {
  readonly begun: Set<string>;
  readonly sent: Set<string>;
  readonly ackBegun: Set<string>;
  readonly acked: Set<string>;
  /** Delivered though it had not been sent, or had been acknowledged on disk. */
  readonly wrong: string[];
}

test('no message is lost, and none comes after it was acknowledged, when the process is killed at any point', async t => {
  t.timeout(600_000);
  const directory = temporaryFolder(t);
  const said: Said = { begun: new Set(), sent: new Set(), ackBegun: new Set(), acked: new Set(), wrong: [] };
  for (let round = 0; round < ROUNDS; round++) await runAndKill(directory, round, said);
  const { storage, queue, dead } = await openQueues(directory);
  t.teardown(() => storage.close());
  const counted = await queueStorage.count?.(storage.context, 'acme');
  t.deepEqual(await storage.context.sums.read('acme'), counted ?? { bytes: 0, objects: 0 });
  const metrics = await Promise.all([queue.metrics(OWN_WORK), dead.metrics(OWN_WORK)]);
  t.is(metrics[0].backlogCount + metrics[1].backlogCount, counted?.objects ?? -1);
  // Delays of milliseconds are over by now.
  const left = [...(await drained(queue)), ...(await drained(dead))];
  t.is(left.length, counted?.objects ?? -1);
  t.is(new Set(left).size, left.length, 'a message is in one queue, once');
  const kept = new Set(left);
  const lost = [...said.sent].filter(number => !kept.has(number) && !said.ackBegun.has(number));
  t.deepEqual(lost, []);
  t.deepEqual(
    left.filter(number => said.acked.has(number) || !said.begun.has(number)),
    [],
  );
  t.deepEqual(said.wrong, []);
  t.true(said.acked.size > 20, `${said.acked.size} acknowledged`);
  t.log(`${said.sent.size} sent, ${said.acked.size} acknowledged, ${left.length} left after ${ROUNDS} kills`);
});

async function drained(queue: QueueEngine): Promise<string[]> {
  const numbers: string[] = [];
  for (;;) {
    const batch = await queue.pull({ maxMessages: 100, maxBytes: 2 ** 30, leaseMs: 600_000 });
    if (batch.length === 0) return numbers;
    for (const { body } of batch) numbers.push(Buffer.from(body).toString().trim());
  }
}

async function runAndKill(directory: string, round: number, said: Said): Promise<void> {
  const program = fileURLToPath(new URL('./programs/crash-queue.js', import.meta.url));
  const child = spawn(process.execPath, [program, directory, `${round}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise(resolve => child.once('exit', resolve));
  const killAfter = 20 + Math.floor(Math.random() * 300);
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, list = ''] = line.split(' ');
    const numbers = list.split(',');
    if (word === '>send') for (const number of numbers) said.begun.add(number);
    if (word === '<send') for (const number of numbers) said.sent.add(number);
    if (word === '>ack') for (const number of numbers) said.ackBegun.add(number);
    if (word === '<ack') for (const number of numbers) said.acked.add(number);
    if (word === 'got') said.wrong.push(...numbers.filter(number => !said.begun.has(number) || said.acked.has(number)));
    if (++lines === killAfter) child.kill('SIGKILL');
  }
  await exited;
}
