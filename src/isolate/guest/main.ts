/**
 * The guest bundle. Evaluated once in each guest realm before any function code; its completion value is `install`.
 * The order of the imports is the order of evaluation: hardening comes first (rule R4).
 */
import './harden.ts';
import { connect, enter } from './bridge.ts';
import './host-body.ts';

export function install(hostCall: Parameters<typeof connect>[0]): typeof enter {
  connect(hostCall);
  return enter;
}
