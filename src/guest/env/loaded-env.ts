/** The environment of code that another function has loaded. */
import { envService } from '../../bindings/loader/wire.ts';
import { Op } from '../../isolate/ops/table.ts';
import type { LoadedSetup } from '../../protocol/run-setup.ts';
import { opString } from '../bridge.ts';
import { decodeValue } from '../callbacks/decode.ts';
import { arrayPush, jsonParse, stringCharCodeAt, TypeErrorCtor, Uint8ArrayCtor } from '../primordials.ts';
import { isObject } from '../web/base/idl.ts';

/** @param serviceNamed makes the object of a binding */
export function loadedEnv({ env, bytes, services }: LoadedSetup, serviceNamed: (name: string) => object): object {
  if (env === '') return {};
  const sequences: Uint8Array[] = [];
  for (let i = 0; i < bytes.length; i++) arrayPush(sequences, fromBase64(bytes[i] ?? ''));
  const value = decodeValue(jsonParse(env), { bytes: sequences, stream: undefined }, ([tag, index]) => {
    if (tag !== 'f' || typeof index !== 'number' || !(index >= 0 && index < services)) return undefined;
    return serviceNamed(envService(index));
  });
  if (!isObject(value)) throw new TypeErrorCtor('The environment is malformed');
  return value;
}

function fromBase64(text: string): Uint8Array {
  const characters = opString(Op.Base64Decode, text);
  const bytes = new Uint8ArrayCtor(characters.length);
  for (let i = 0; i < characters.length; i++) bytes[i] = stringCharCodeAt(characters, i);
  return bytes;
}
