/**
 * A host that is busy until it is killed. It says on stdout, one line each: `event <events so far> <their CPU time in us>` for an invocation that is over,
 * and `written <events>` when a write of usage has been made that has so many events, by itself.
 */
import { writeSync } from 'node:fs';
import { EdgeHost } from '../../../../src/index.js';
import { RecordStore } from '../../../../src/storage/records/record-store.js';

const [directory = ''] = process.argv.slice(2);
let events = 0;
let cpuUs = 0;

function say(line: string): void {
  // Written at once and whole: it must be known after the kill.
  writeSync(1, `${line}\n`);
}

const { commit } = RecordStore.prototype;
RecordStore.prototype.commit = async function (this: RecordStore, operations, work) {
  const counted = events;
  await commit.call(this, operations, work);
  if (operations.some(({ key }) => key.startsWith('yd'))) say(`written ${counted}`);
};

const host = new EdgeHost({ storage: directory, isolation: 'thread', spareIsolates: 0 });
host.on('invocation', event => {
  events++;
  cpuUs += Math.round(event.cpuMs * 1000);
  say(`event ${events} ${cpuUs}`);
});
const source = 'export default { fetch() { return new Response("x"); } };';
const functions = [
  await host.account('acme').load(source, { name: 'one' }),
  await host.account('acme').load(source, { name: 'two' }),
];
for (let count = 0; ; count++) {
  await (await functions[count % 2]?.fetch('https://example.org/'))?.text();
  await new Promise(setImmediate);
}
