/** The steps before an isolate's first invocation: it warms up, and loads its function. */
import type { Channel } from '../../protocol/channel.js';
import type { ExchangeListener } from '../../protocol/exchange.js';
import { HostOpens, type LoadAnswer, type LoadHead } from '../../protocol/messages.js';
import type { IsolateEnd } from './isolate-end.js';
import { IsolateGone } from './isolate-loss.js';
import { parseLoadAnswer, parseUsage } from './isolate-messages.js';

const IGNORE = (): void => {};
/** For listeners of exchanges without streamed bodies. */
const WITHOUT_BODIES = { onData: IGNORE, onCredit: IGNORE, onSent: IGNORE, onStop: IGNORE } as const;

/** Resolves when the isolate has warmed up, or is gone. */
export function warmUp(channel: Channel): Promise<void> {
  return new Promise(resolve => {
    const onOver = (): void => resolve();
    const listener = { ...WITHOUT_BODIES, onReply: onOver, onFail: onOver };
    channel.open(HostOpens.Warm, '', true, null, true, listener);
  });
}

/** Resolves with true when the isolate has a new realm, and with false when it is of no more use. */
export function renewRealm(channel: Channel): Promise<boolean> {
  return new Promise(resolve => {
    const listener = {
      ...WITHOUT_BODIES,
      onReply: (status: number) => resolve(status === 200),
      onFail: () => resolve(false),
    };
    channel.open(HostOpens.Renew, '', true, null, true, listener);
  });
}

/** Rejects with IsolateGone when the isolate has ended, once it is known why. */
export function loadFunction(
  channel: Channel,
  head: LoadHead,
  body: Uint8Array,
  ending: IsolateEnd,
): Promise<LoadAnswer> {
  return new Promise<LoadAnswer>((resolve, reject) => {
    const fail = (text: string): void => {
      const { detail, usage } = parseUsage(text);
      reject(new IsolateGone(ending.reason ?? 'closed', detail, usage));
    };
    const listener: ExchangeListener = {
      ...WITHOUT_BODIES,
      onReply: (_status, text) => {
        try {
          resolve(parseLoadAnswer(text));
        } catch (error) {
          reject(error);
        }
      },
      onFail: reason => {
        if (!channel.isClosed && !ending.isKnown) fail(reason);
        else ending.whenReported(() => fail(ending.detail ?? reason));
      },
    };
    channel.open(HostOpens.Load, JSON.stringify(head), true, body, true, listener);
  });
}
