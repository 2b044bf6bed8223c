/** Functions of the application, as a function calls them: `await env.APP.lookup(args)`. */
import { CALL, type CallbackCall, type CallbackReply } from '../../bindings/callbacks/wire.ts';
import type { ClientPlatform } from '../../bindings/client-platform.ts';
import {
  arrayPush,
  defineProperty,
  objectFreeze,
  promiseReject,
  TypeErrorCtor,
  typedArrayLength,
} from '../primordials.ts';
import { advanceClock } from '../web/base/clock.ts';
import type { Blob } from '../web/file/blob.ts';
import type { ReadableStream } from '../web/streams/streams.ts';
import { bodyOf, takeApart } from './body.ts';
import { decodeValue, makeError } from './decode.ts';
import { encodeValue } from './encode.ts';

type Platform = ClientPlatform<ReadableStream, Blob>;

/** `names`: the callbacks that there are, as the host has listed them. */
export function createCallbacks(platform: Platform, binding: string, names: unknown): object {
  const callbacks = {};
  const list = names as readonly string[]; // the host's
  for (let i = 0; i < list.length; i++) {
    const name = list[i];
    if (name === undefined) continue;
    const callback = (...args: unknown[]): Promise<unknown> => {
      if (args.length > 1) {
        const message = `${binding}.${name}() takes one argument, it was called with ${args.length}: pass an object`;
        return promiseReject(new TypeErrorCtor(message));
      }
      return callApplication(platform, name, args[0]);
    };
    defineProperty(callback, 'name', { __proto__: null, value: name, configurable: true } as PropertyDescriptor);
    defineProperty(callbacks, name, { __proto__: null, value: callback, enumerable: true } as PropertyDescriptor);
  }
  return objectFreeze(callbacks);
}

/** Calls a function of the application. The argument and the result are copies. */
export async function callApplication(platform: Platform, name: string, argument: unknown): Promise<unknown> {
  const encoded = encodeValue(argument);
  const lengths: number[] = [];
  for (let i = 0; i < encoded.bytes.length; i++) arrayPush(lengths, typedArrayLength(encoded.bytes[i]));
  const args: CallbackCall = { f: name, v: encoded.json, b: lengths, s: encoded.stream !== undefined };
  const reply = await platform.call(CALL, args, bodyOf(encoded.bytes, encoded.stream));
  const head = reply.head as CallbackReply; // the host's
  if (head.t !== undefined) advanceClock(head.t);
  if ('e' in head) throw makeError(head.e[0], head.e[1]);
  return decodeValue(head.v, await takeApart(reply.body ?? null, head));
}
