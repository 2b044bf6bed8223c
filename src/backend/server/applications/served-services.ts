/** The services that the application's own clients of bindings call, by the numbers that the application has given them. */
import type { Service } from '../../../bindings/service.js';
import type { ServiceAddress } from '../../wire/calls.js';

export class ServedServices {
  readonly #make: (address: ServiceAddress) => Service;
  readonly #services = new Map<number, Service>();

  constructor(make: (address: ServiceAddress) => Service) {
    this.#make = make;
  }

  /** One that cannot be made rejects its calls with the reason. */
  open(number: number, address: ServiceAddress): undefined {
    let service: Service;
    try {
      service = this.#make(address);
    } catch (error) {
      service = async () => {
        throw error;
      };
    }
    this.#services.set(number, service);
  }

  close(number: number): undefined {
    this.#services.delete(number);
  }

  of(number: number): Service {
    const service = this.#services.get(number);
    if (service === undefined) throw new RangeError(`There is no service of the number ${number}`);
    return service;
  }
}
