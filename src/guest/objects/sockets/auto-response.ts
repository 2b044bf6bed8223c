/** WebSocketRequestResponsePair: a message that the host answers by itself, while the object sleeps. */
import { SOCKET_LIMITS } from '../../../bindings/objects/socket-wire.ts';
import { RangeErrorCtor, typedArrayLength } from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { defineInterface, requireArguments, toUSVString } from '../../web/base/idl.ts';

export let isAutoResponse: (value: unknown) => value is WebSocketRequestResponsePair;

export class WebSocketRequestResponsePair {
  readonly #request: string;
  readonly #response: string;

  constructor(request: unknown, response: unknown) {
    requireArguments(arguments.length, 2, 'WebSocketRequestResponsePair constructor');
    this.#request = checked('Request', toUSVString(request));
    this.#response = checked('Response', toUSVString(response));
  }

  get request(): string {
    return this.#request;
  }

  get response(): string {
    return this.#response;
  }

  static {
    isAutoResponse = (value): value is WebSocketRequestResponsePair =>
      typeof value === 'object' && value !== null && #request in value;
  }
}

defineInterface(WebSocketRequestResponsePair);

function checked(what: string, text: string): string {
  const bytes = typedArrayLength(encodeUtf8(text));
  if (bytes <= SOCKET_LIMITS.autoResponseBytes) return text;
  throw new RangeErrorCtor(
    `${what} cannot be larger than ${SOCKET_LIMITS.autoResponseBytes} bytes. A ${what === 'Request' ? 'request' : 'response'} of size ${bytes} was provided.`,
  );
}
