/**
 * Sends to a queue and receives from it until it is killed. It says on stdout what it is about to do and what was acknowledged, by the numbers that are the
 * bodies of messages: `>send 1,2`, `<send 1,2`, `got 1,2`, `>ack 1`, `<ack 1`.
 */
import { writeSync } from 'node:fs';
import type { ClaimedMessage, QueueEngine } from '../../../../src/bindings/queue/broker.js';
import { OWN_WORK } from '../../../../src/quotas/host/call-work.js';
import { openQueues } from '../open-queues.js';

const [directory = '', round = '0'] = process.argv.slice(2);
const { queue, dead } = await openQueues(directory);
let count = Number(round) * 1_000_000;

function say(word: string, numbers: readonly string[]): void {
  // Written at once and whole: what was acknowledged must be known after the kill.
  if (numbers.length > 0) writeSync(1, `${word} ${numbers.join(',')}\n`);
}

const numberOf = ({ body }: ClaimedMessage): string => Buffer.from(body).toString().trim();

async function send(sender: number): Promise<never> {
  for (let turn = 0; ; turn++) {
    const numbers = Array.from({ length: 1 + ((turn + sender) % 5) }, () => `${count++}`);
    say('>send', numbers);
    const messages = numbers.map(number => ({
      contentType: 'text' as const,
      body: Buffer.from(number.padEnd(10 + ((turn * 131) % 3000))),
      delayMs: turn % 9 === 0 ? 20 : 0,
    }));
    await queue.send(messages, { method: 'send' }, { ...OWN_WORK, owner: {} });
    say('<send', numbers);
  }
}

async function receive(from: QueueEngine): Promise<never> {
  for (let turn = 0; ; turn++) {
    const signal = new AbortController().signal;
    const batch = await from.receive({ maxMessages: 13, maxBytes: 256_000, maxWaitMs: 1, leaseMs: 60_000, signal });
    say('got', batch.map(numberOf));
    const retried = batch.filter((_, at) => (at + turn) % 4 === 0);
    const acked = batch.filter(message => !retried.includes(message));
    say('>ack', acked.map(numberOf));
    const deadLetters = from === queue ? { maxRetries: 1, deadLetterQueue: 'dead' } : {};
    const acks = acked.map(({ leaseId }) => leaseId);
    const retries = retried.map(({ leaseId }) => ({ leaseId, delayMs: turn % 3 === 0 ? 5 : 0 }));
    await from.settle({ acks, retries, ...deadLetters }, OWN_WORK);
    say('<ack', acked.map(numberOf));
  }
}

// Timers of queues keep no process alive.
setInterval(() => {}, 1000);
const senders = Array.from({ length: 8 }, (_, sender) => send(sender));
await Promise.all([...senders, receive(queue), receive(queue), receive(dead)]);
