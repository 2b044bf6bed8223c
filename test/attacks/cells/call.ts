/** A call of a service by a cell that was taken over. */
import type { Channel } from '../../../src/protocol/channel.js';

const WINDOW_BYTES = 64 * 1024;
const BODY = Buffer.from('[1,2,3]');

/** One call. What does not come to an end in time is given up. */
export function call(
  channel: Channel,
  service: number,
  head: string,
  isWhole: boolean,
  done: (reply: string, reason: string | undefined) => void,
  { body = BODY, withinMs = 500 }: { readonly body?: Uint8Array; readonly withinMs?: number } = {},
): void {
  let text = '';
  const exchange = channel.open(service, head, true, isWhole ? body : null, isWhole);
  const end = (reason: string | undefined): void => {
    clearTimeout(timer);
    exchange.listener = undefined;
    done(text, reason);
  };
  const timer = setTimeout(() => {
    exchange.fail('Given up');
    end('given up');
  }, withinMs);
  exchange.listener = {
    onReply(_status, replied, first, isComplete) {
      text += replied + first.toString('latin1');
      if (isComplete) end(undefined);
    },
    onData() {
      for (let piece = exchange.read(WINDOW_BYTES); piece !== undefined; piece = exchange.read(WINDOW_BYTES)) {
        text += piece.toString('latin1');
      }
      if (exchange.incoming === 'ended') end(undefined);
    },
    onCredit() {},
    onSent() {},
    onStop() {},
    onFail: reason => end(reason),
  };
  if (isWhole) return;
  exchange.write(body);
  if (text === '') exchange.end();
}
