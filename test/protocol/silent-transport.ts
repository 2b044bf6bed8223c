import type { Transport } from '../../src/protocol/transports/transport.js';

/** Takes everything and gives nothing: what a test needs of a connection stands in place of a part of it. */
export const SILENT_TRANSPORT: Transport = {
  isBackpressured: false,
  unwrittenBytes: 0,
  start() {},
  write() {},
  pause() {},
  resume() {},
  close() {},
};
