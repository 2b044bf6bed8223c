/**
 * What Piscina loads. CommonJS, since Node 20 aborts the whole process when a thread is ended while it is inside require() of an ES
 * module; the isolate's code, bundled into one file, is imported by the first lease, which has no such window.
 */
import type { Lease } from './worker.js';

const BUNDLE = './worker.bundle.js';

module.exports = async (lease: Lease): Promise<never> => {
  const { default: serve }: typeof import('./worker.js') = await import(BUNDLE);
  return serve(lease);
};
