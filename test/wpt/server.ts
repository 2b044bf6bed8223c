/** Answers the fetches of tests by the service that answers those of functions, over the network to the tests' server. */
import { createEgress, type Egress } from '../../src/bindings/egress/egress.js';
import { egressService } from '../../src/bindings/egress/egress-service.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { ExchangeIo, failureText } from '../../src/protocol/exchange-io.js';
import { OWN_WORK } from '../../src/quotas/host/call-work.js';
import { HOST } from './program.js';

/** The world of a test: the tests' server and nothing else. */
export function createWorld(): Egress {
  return createEgress({
    publicInternet: false,
    allow: ['127.0.0.1'],
    resolve: async name => (name === HOST || name.endsWith(`.${HOST}`) ? ['127.0.0.1'] : []),
  });
}

export async function answerCall(world: Egress, call: Exchange, headText: string, isComplete: boolean): Promise<void> {
  const io = new ExchangeIo(call);
  try {
    const [method = '', , argumentText = ''] = headText.split('\n');
    const args: unknown = JSON.parse(argumentText);
    const body = isComplete ? (call.read(Number.MAX_SAFE_INTEGER) ?? null) : io.chunks();
    const service = egressService(world, { account: 'tests', function: 'test', checkUrl() {} });
    const reply = await service({ method, args, body, signal: io.signal, work: OWN_WORK });
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
