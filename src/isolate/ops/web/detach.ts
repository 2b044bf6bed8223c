/** Detaching of ArrayBuffers, for engines whose language cannot (Node 20). */
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { guestBuffer } from '../arguments.js';
import type { OpSet } from '../op-set.js';
import { Op } from '../table.js';

export function detachOps(): OpSet {
  let channel: MessageChannel | undefined;
  return {
    [Op.Detach]: bytes => {
      const buffer = guestBuffer(bytes);
      channel ??= new MessageChannel();
      channel.port1.unref();
      channel.port2.unref();
      // A transfer takes the memory away from the buffer; the message is thrown away with it.
      channel.port1.postMessage(undefined, [buffer]);
      receiveMessageOnPort(channel.port2);
      return undefined;
    },
  };
}
