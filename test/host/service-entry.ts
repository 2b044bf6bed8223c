/** Services of a function as tests give them. */

import type { FunctionServices, ServiceEntry } from '../../src/backend/calls/answer-call.js';
import { REGISTRY } from '../../src/bindings/registry.js';
import type { Service } from '../../src/bindings/service.js';
import type { ServiceId } from '../../src/quotas/service-calls.js';

/** The row of a service, with one binding of it: '' for a service that every function has. */
export function serviceEntry(id: ServiceId, service: Service, binding = ''): ServiceEntry {
  const definition = REGISTRY.rows.find(row => row.id === id);
  if (definition === undefined) throw new TypeError(`There is no row of service ${id}`);
  return { definition, services: new Map([[binding, service]]) };
}

/** Every service of the package, and one that answers all of them. */
export function everyService(service: Service, binding = ''): FunctionServices {
  return new Map(REGISTRY.rows.map(({ id }) => [id, serviceEntry(id, service, binding)]));
}
