/**
 * What Piscina loads. CommonJS, since Node 20 aborts the whole process when a thread is ended while it is inside require() of an ES
 * module; the ES modules of the isolate are imported by the first lease, which has no such window.
 */
import type { Lease } from './worker.js';

module.exports = async (lease: Lease): Promise<never> => {
  const { default: serve } = await import('./worker.js');
  return serve(lease);
};
