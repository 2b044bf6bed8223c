/** The runner behind a public EdgeFunction, for the endpoints of the host. */
import type { EdgeFunction } from '../edge-function.js';
import type { FunctionRunner } from './function-runner.js';

const runners = new WeakMap<EdgeFunction, FunctionRunner>();

export function rememberRunner(edgeFunction: EdgeFunction, runner: FunctionRunner): void {
  runners.set(edgeFunction, runner);
}

/** @throws TypeError for anything but a function that a host has loaded */
export function runnerOf(edgeFunction: EdgeFunction): FunctionRunner {
  const runner = runners.get(edgeFunction);
  if (runner === undefined)
    throw new TypeError('Option function of listener() is not a function that host.load() gave');
  return runner;
}
