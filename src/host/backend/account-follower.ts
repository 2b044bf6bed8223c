/** Follows what other applications of the storage directory change of accounts: missed changes come with the greeting, later ones as they happen. */

import { type AccountChange, parseMissedChanges, parseToldChange } from '../../backend/wire/account-changes.js';
import { forward } from '../../backend/wire/forwarded-call.js';
import type { ApplicationHello, RemovalStep } from '../../backend/wire/message-contents.js';
import { ApplicationOpens } from '../../backend/wire/messages.js';
import { packValue } from '../../backend/wire/packets.js';
import type { Channel } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { failureText } from '../../protocol/exchange-io.js';
import { EdgeError } from '../../quotas/errors.js';
import { detached } from '../../quotas/guarded.js';

export interface AccountFollowerOptions {
  readonly hello: () => Omit<ApplicationHello, 'seenChange'>;
  /** Follows a change by another application, at once for everything that begins from then on. Never rejects. */
  readonly follow: (change: AccountChange) => Promise<void>;
  /** Takes a step in the removal of an account whose application has gone. */
  readonly takeRemoval: (step: RemovalStep) => Promise<void>;
  readonly onWarning: (error: EdgeError) => void;
}

const MISSED =
  'While the backend process was away other applications have changed more accounts than it keeps: those that were removed long ago may be used here';

export class AccountFollower {
  readonly #options: AccountFollowerOptions;
  /** The last change that this application has followed, or made. */
  #seenChange: number | undefined;
  #greeted: Promise<void> = Promise.resolve();

  constructor(options: AccountFollowerOptions) {
    this.#options = options;
  }

  /** Greets a new backend process, and follows what it says was missed. */
  greet(channel: Channel): Promise<void> {
    this.#greeted = this.#greet(channel);
    return this.#greeted;
  }

  async #greet(channel: Channel): Promise<void> {
    const hello: ApplicationHello = { ...this.#options.hello(), seenChange: this.#seenChange };
    const packet = packValue(hello);
    const { head: missed } = await forward(channel, ApplicationOpens.Hello, packet.head, packet.body);
    const { changes, last, isPartial } = parseMissedChanges(missed);
    // Nothing is called over this connection before: what an account does that is gone would count to the next one of its id.
    for (const { change } of changes) detached(this.#options.follow(change));
    this.#seenChange = last;
    if (isPartial) this.#options.onWarning(new EdgeError('EDGE_SERVICES_LOST', MISSED));
  }

  async follow(exchange: Exchange, head: string): Promise<void> {
    const { number, change, isOwn } = parseToldChange(head);
    // The missed changes come first.
    await Promise.allSettled([this.#greeted]);
    this.#seenChange = number;
    // Options are followed in one order by all; an account that was removed here may be there again.
    if (!isOwn || 'update' in change) await this.#options.follow(change);
    exchange.reply(200, '', true, null, true);
  }

  async takeRemoval(exchange: Exchange, head: string): Promise<void> {
    try {
      await this.#options.takeRemoval(JSON.parse(head));
      exchange.reply(200, '', true, null, true);
    } catch (error) {
      exchange.fail(failureText(error));
    }
  }
}
