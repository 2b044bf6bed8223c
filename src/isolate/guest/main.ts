/**
 * The guest bundle. Evaluated once in each guest realm before any function code; its completion value is `install`.
 * The order of the imports is the order of evaluation: hardening comes first (rule R4), then
 * the errors, which the rest captures.
 */
import './harden.ts';
import './errors.ts';
import { connect, enter } from './bridge.ts';
import { installGlobals } from './globals.ts';
import './host-body.ts';
import { startClock } from './web/clock.ts';

installGlobals();

export function install(hostCall: Parameters<typeof connect>[0]): typeof enter {
  connect(hostCall);
  startClock();
  return enter;
}
