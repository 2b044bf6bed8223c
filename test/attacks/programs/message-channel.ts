import { attack } from '../attack.js';

export default attack({
  tries: 'to send itself objects over a MessageChannel',
  rules: ['R10'],
  body: `
const { port1, port2 } = new MessageChannel();
const done = new Promise(resolve => { port2.onmessage = event => { keep(event); keep(event.data); keep(event.ports); keep(event.source); resolve(); }; });
attempt(() => port1.postMessage({ a: [new Uint8Array(4)], e: new Error('x') }));
attempt(() => port1.postMessage(port2, [port2]));
attempt(() => port1.postMessage(port1, [port1]));
attempt(() => port1.postMessage(globalThis));
attempt(() => port1.postMessage(new Uint8Array(8), [new ArrayBuffer(8), new ArrayBuffer(8)]));
await Promise.race([done, scheduler.wait(50)]);
attempt(() => port1.close());
attempt(() => port1.postMessage(1));
keep(Object.getPrototypeOf(port1));
`,
});
