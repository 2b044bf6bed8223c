/**
 * Caches. Their calls reach the host process like those of every service: they count as subrequests and hold connections there. The host
 * answers that it has no caches yet, which a function reads in the error, where without `caches` it would read of a name that is not
 * defined.
 */
import { ServiceId } from '../../bindings/service-id.ts';
import { callService } from '../call-service.ts';
import { jsonParse, PromiseCtor, TypeErrorCtor } from '../primordials.ts';
import { rejection } from '../rejection.ts';
import { requireHandler } from '../scope.ts';
import { defineInterface } from './base/idl.ts';

let isConstructing = false;

export class Cache {
  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  match(_request: unknown): Promise<unknown> {
    return call('match');
  }

  put(_request: unknown, _response: unknown): Promise<unknown> {
    return call('put');
  }

  delete(_request: unknown): Promise<unknown> {
    return call('delete');
  }
}

export class CacheStorage {
  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  }

  get default(): Cache {
    return cache;
  }

  async open(_name: unknown): Promise<Cache> {
    return cache;
  }
}

defineInterface(Cache);
defineInterface(CacheStorage);

isConstructing = true;
const cache = new Cache();
export const caches = new CacheStorage();
isConstructing = false;

function call(method: string): Promise<unknown> {
  return new PromiseCtor(resolve => {
    requireHandler(`caches.${method}()`);
    callService(ServiceId.Cache, method, '', '{}', null, {
      onReply: (head, body) => {
        body?.stop();
        resolve(jsonParse(head));
      },
      onFailed: (makeError, site) => resolve(rejection(makeError, site)),
    });
  });
}
