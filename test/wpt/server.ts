/** Answers the fetches of tests by the service that answers those of functions, with the tests' server for the outside world. */
import { createEgress, type Egress } from '../../src/bindings/egress/egress.js';
import { egressService } from '../../src/bindings/egress/egress-service.js';
import type { Exchange } from '../../src/isolate/protocol/exchange.js';
import { ExchangeIo, failureText } from '../../src/isolate/protocol/exchange-io.js';
import { answerTest } from './origin.js';
import { ORIGIN } from './program.js';

const { hostname: HOST } = new URL(ORIGIN);

/** The world of the tests of a checkout. Nothing of it touches the network. */
export function createWorld(checkout: string): Egress {
  return createEgress({
    outbound: request => {
      const { hostname } = new URL(request.url);
      if (hostname === HOST || hostname.endsWith(`.${HOST}`)) return answerTest(checkout, request);
      throw new TypeError(`${request.url} is not of the tests' server`);
    },
  });
}

export async function answerCall(world: Egress, call: Exchange, headText: string, isComplete: boolean): Promise<void> {
  const io = new ExchangeIo(call);
  try {
    const { method, args }: { method: string; args: unknown } = JSON.parse(headText);
    const body = isComplete ? (call.read(Number.MAX_SAFE_INTEGER) ?? null) : io.chunks();
    const service = egressService(world, { account: 'tests', function: 'test' });
    const reply = await service({ method, args, body, signal: io.signal });
    const head = JSON.stringify(reply.head);
    const answer = reply.body ?? null;
    if (answer === null || answer instanceof Uint8Array) {
      call.reply(200, head, true, answer, true);
      return;
    }
    call.reply(200, head, true, null, false);
    await io.send(answer);
  } catch (error) {
    call.fail(failureText(error));
  }
}
