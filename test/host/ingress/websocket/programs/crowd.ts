/**
 * Many clients of one kind: `crowd.js PORT HOST KIND COUNT`. Prints how many were connected when all have begun, and goes on until its input ends.
 */
import net from 'node:net';
import process from 'node:process';

const [port, host = '', kind = '', count] = process.argv.slice(2);
const UPGRADE =
  `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${'a'.repeat(22)}==\r\n\r\n`;
const MASK = '00000000';
const frames = (hex: string, times: number): Buffer => Buffer.from(hex.repeat(times), 'hex');
/** What is said once the WebSocket is open, again and again as far as it is taken. Null: nothing, and an end is not answered. */
const SAID: Readonly<Record<string, Buffer | null>> = {
  idle: null,
  deaf: frames(`8281${MASK}41`, 1),
  ping: frames(`8980${MASK}`, 512),
  empty: frames(`8280${MASK}`, 512),
  // A message in 64 parts.
  parts: Buffer.concat([frames(`0281${MASK}41`, 1), frames(`0081${MASK}41`, 62), frames(`8081${MASK}41`, 1)]),
};
const ROUND_MS = 20;
/** Connections that are being made at once. */
const WIDTH = 100;

let connected = 0;

function begin(): Promise<void> {
  return new Promise(resolve => {
    const socket = net.connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {}).on('close', () => resolve());
    socket.once('connect', () => {
      connected++;
      if (kind === 'silent') resolve();
      else if (kind === 'half') socket.write(UPGRADE.slice(0, -2), () => resolve());
      else if (kind === 'refused') socket.write(UPGRADE.replace('Version: 13', 'Version: 1'), () => resolve());
      else socket.write(UPGRADE);
    });
    if (kind === 'refused') socket.resume();
    const said = SAID[kind];
    if (said === undefined) return;
    socket.once('data', () => {
      if (kind === 'deaf') socket.pause();
      else socket.resume();
      resolve();
      if (said === null) return;
      const say = (): void => {
        if (!socket.destroyed && socket.writableLength < 64 * 1024) socket.write(said);
      };
      say();
      const timer = setInterval(say, ROUND_MS);
      socket.once('close', () => clearInterval(timer));
    });
  });
}

let left = Number(count);
await Promise.all(
  Array.from({ length: WIDTH }, async () => {
    while (left-- > 0) await begin();
  }),
);
process.stdout.write(`${connected}\n`);
process.stdin.resume().once('end', () => process.exit());
