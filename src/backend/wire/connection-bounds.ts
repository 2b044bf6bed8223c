/**
 * The bounds of a connection between an application and the backend process, at both ends. Each trusts the other, and what they hold is a body for each
 * client of the S3 endpoint that reads or sends slowly: a bound of the connection would have such clients end it for all others. The windows of all bodies
 * are small from 16 MiB on (protocol/channel.ts), so a client costs 64 KiB.
 */
import type { ChannelBounds } from '../../protocol/channel-bounds.js';
import { TRUSTED_BOUNDS } from '../../protocol/frames/frame-reader.js';

export const CONNECTION_BOUNDS: ChannelBounds = {
  frames: TRUSTED_BOUNDS,
  share: undefined,
  isForMany: true,
};
