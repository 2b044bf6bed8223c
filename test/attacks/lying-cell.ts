/**
 * The main file of a cell that has been taken over: answers everything as an honest one does, says that nothing of it took any time, and
 * burns all the processors that it gets. Started as a program of its own.
 */
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { Control } from '../../src/pool/control.js';
import { Channel } from '../../src/protocol/channel.js';
import { HostOpens, SignalKind } from '../../src/protocol/messages.js';
import { descriptorTransport } from '../../src/protocol/transports/transport.js';

const THREADS = 2;
let burning = 0;

const control = new Channel(descriptorTransport(3), 'isolate', {
  onOpen() {},
  onSignal(_lease, kind, payload) {
    if (kind === Control.Settings) control.signal(0, Control.Ready, '');
    if (kind === Control.Ping) control.signal(0, Control.Pong, '');
    if (kind === Control.Start) isolate(payload.readUInt32LE(0));
  },
  onClose: () => process.exit(0),
});

function isolate(descriptor: number): void {
  const channel = new Channel(descriptorTransport(descriptor), 'isolate', {
    onOpen(exchange, kind) {
      if (kind === HostOpens.Load) {
        const answer = { kind: 'loaded', handlers: ['fetch'], startupTimeMs: 0 };
        exchange.reply(200, JSON.stringify(answer), true, null, true);
        return;
      }
      exchange.reply(200, '', false, null, true);
      channel.signal(exchange.id, SignalKind.Done, Buffer.alloc(8));
      while (burning++ < THREADS) new Worker('for (;;);', { eval: true });
    },
    onSignal() {},
    onClose() {},
  });
}
