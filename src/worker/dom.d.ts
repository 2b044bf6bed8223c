/**
 * Types for authors of functions beside a library of TypeScript's that has the web types, `dom` or `webworker`: what functions have and those
 * do not declare. `edgehost/worker` is the better choice where it is possible, since they declare much that functions do not have.
 */
/// <reference path="additions.d.ts" />
/// <reference path="hosted-names.d.ts" />
/// <reference path="modules.d.ts" />
import './functions.js';

declare global {
  /** `addEventListener('fetch', event => event.respondWith(...))`. */
  function addEventListener(type: 'fetch', listener: (event: WorkerFetchEvent) => void): void;

  /** Not `FetchEvent`, which is another type in TypeScript's library for service workers. */
  interface WorkerFetchEvent extends ExtendableEvent {
    readonly request: Request;
    respondWith(response: Response | Promise<Response>): void;
  }
}
