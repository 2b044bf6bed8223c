/** The Body mixin: what Request and Response have in common. @see https://fetch.spec.whatwg.org/#body-mixin */
import { defineProperty, getOwnPropertyDescriptor, ownKeys } from '../../primordials.ts';
import type { Blob } from '../file/blob.ts';
import type { ReadableStream } from '../streams/streams.ts';
import {
  type BodyHolder,
  isUsed,
  readArrayBuffer,
  readBlob,
  readBytes,
  readFormData,
  readJson,
  readText,
  rejecting,
  streamOf,
} from './body.ts';
import type { FormData } from './form-data.ts';

/** Gives a class the members of the mixin. `ownerOf` throws for a receiver that is not an instance. */
export function defineBody<T extends object>(
  { prototype }: { readonly prototype: T },
  ownerOf: (instance: T) => BodyHolder,
): void {
  const members: object & ThisType<T> = {
    get body(): ReadableStream | null {
      const { body } = ownerOf(this);
      return body === null ? null : streamOf(body);
    },
    get bodyUsed(): boolean {
      const { body } = ownerOf(this);
      return body !== null && isUsed(body);
    },
    arrayBuffer(): Promise<ArrayBuffer> {
      return rejecting(() => readArrayBuffer(ownerOf(this)));
    },
    blob(): Promise<Blob> {
      return rejecting(() => readBlob(ownerOf(this)));
    },
    bytes(): Promise<Uint8Array> {
      return rejecting(() => readBytes(ownerOf(this)));
    },
    formData(): Promise<FormData> {
      return rejecting(() => readFormData(ownerOf(this)));
    },
    json(): Promise<unknown> {
      return rejecting(() => readJson(ownerOf(this)));
    },
    text(): Promise<string> {
      return rejecting(() => readText(ownerOf(this)));
    },
  };
  for (const name of ownKeys(members)) {
    const descriptor = getOwnPropertyDescriptor(members, name);
    if (descriptor !== undefined)
      defineProperty(prototype, name, { __proto__: null, ...descriptor } as PropertyDescriptor);
  }
}
