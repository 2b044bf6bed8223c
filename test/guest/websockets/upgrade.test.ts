/** WebSockets of responses: the acceptance of one that sleeps is a call, which waits at the output gate as any other. */
import test from 'ava';
import { BODY_NONE, Ev, Op } from '../../../src/isolate/ops/table.js';
import { guestModules } from '../guest-modules.js';

interface Modules {
  'websockets/upgrade': { handedSocket(number: number, protocol: string): TestSocket };
  'call-service': {
    setOutputGate(gate: () => ((go: () => void, refuse: (error: unknown) => void) => void) | undefined): void;
  };
}

interface TestSocket {
  readonly readyState: number;
  accept(): void;
  send(text: string): void;
  close(code: number): void;
  addEventListener(
    type: string,
    listener: (event: { readonly message?: string; readonly code?: number }) => void,
  ): void;
}

const newRealm = await guestModules<Modules>('websockets/upgrade', 'call-service');
const EXCHANGE = 7;

function opened() {
  const realm = newRealm();
  realm.answer(Op.CallStream, () => EXCHANGE);
  realm.answer(Op.SocketText, () => 1);
  realm.answer(Op.SocketBytes, () => 1);
  realm.answer(Op.TextLength, text => Buffer.byteLength(String(text)));
  realm.answer(Op.TextEncode, (text, target) => {
    if (!ArrayBuffer.isView(target)) throw new TypeError('No bytes');
    return new TextEncoder().encodeInto(String(text), Buffer.from(target.buffer, target.byteOffset, target.byteLength))
      .read;
  });
  const waiting: { readonly go: () => void; readonly refuse: (error: unknown) => void }[] = [];
  const socket = realm.modules['websockets/upgrade'].handedSocket(3, '');
  const names = (): string[] => realm.takeOps().map(([name]) => name);
  const close = (): void =>
    realm.modules['call-service'].setOutputGate(() => (go, refuse) => void waiting.push({ go, refuse }));
  return { realm, socket, waiting, names, close };
}

test('accept() of a socket that sleeps is a call at once when nothing was written before', t => {
  const { socket, names, realm } = opened();
  socket.accept();
  socket.send('hello');
  t.deepEqual(names(), ['CallStream', 'SocketText']);
  realm.enter(Ev.CallReply, EXCHANGE, 200, '', BODY_NONE);
  t.deepEqual(names(), ['SocketNext']);
});

test('accept() of a socket that sleeps waits for what was written before, and what is sent waits behind it', t => {
  const { socket, names, waiting, close } = opened();
  close();
  socket.accept();
  socket.send('hello');
  socket.close(4000);
  t.deepEqual(names(), []);
  t.is(waiting.length, 1);
  waiting[0]?.go();
  t.deepEqual(
    names().filter(name => name.startsWith('Call') || name.startsWith('Socket')),
    ['CallStream', 'SocketText', 'SocketBytes', 'SocketNext'],
  );
});

test('accept() of a socket that sleeps makes no call when what was written before was not stored: the socket is lost', t => {
  const { socket, names, waiting, close } = opened();
  const seen: unknown[] = [];
  for (const type of ['error', 'close'])
    socket.addEventListener(type, event => seen.push([type, event.message ?? event.code]));
  close();
  socket.accept();
  socket.send('hello');
  waiting[0]?.refuse(new Error('a full disk'));
  t.deepEqual(names(), []);
  t.deepEqual(seen, [
    ['error', 'a full disk'],
    ['close', 1006],
  ]);
  t.is(socket.readyState, 3);
});
