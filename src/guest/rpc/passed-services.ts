/** The objects of this realm that stand for services, and may be passed on to loaded code. */
import type { PassedService } from '../../bindings/loader/wire.ts';
import { WeakMapCtor, weakMapGet, weakMapSet } from '../primordials.ts';

const services = new WeakMapCtor<object, PassedService | 'bound'>();

/** @param service 'bound': it belongs to this function, or to an invocation of it, and cannot be passed on */
export function markService(object: object, service: PassedService | 'bound'): void {
  weakMapSet(services, object, service);
}

/** Undefined for every object that stands for no service. */
export function serviceOf(object: object): PassedService | 'bound' | undefined {
  return weakMapGet(services, object);
}
