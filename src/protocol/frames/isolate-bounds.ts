/**
 * The bounds of the frames that the host accepts from an isolate: for each type as much as an honest one needs. No part of a frame is
 * decoded or parsed before its length has been compared with these, since a megabyte of JSON can cost a second.
 */
import { MAX_CALL_HEAD_BYTES } from '../../quotas/service-calls.js';
import { FrameType } from './frame-layout.js';
import type { FrameBounds } from './frame-reader.js';

const KIB = 1024;
/** A body that comes with its head has at most 64 Ki characters, and a character up to three bytes. */
const INLINE_BODY_BYTES = 192 * KIB;
/** The id of the invocation before the head of a call. */
const INVOCATION_BYTES = 16;

const PAYLOAD_BYTES: Readonly<Record<number, number>> = {
  [FrameType.Open]: MAX_CALL_HEAD_BYTES + INVOCATION_BYTES + INLINE_BODY_BYTES + 6,
  // 128 Ki Latin-1 characters of headers; or the answer to a load, which has bounded texts.
  [FrameType.Reply]: 256 * KIB + INLINE_BODY_BYTES,
  [FrameType.End]: 0,
  [FrameType.Credit]: 4,
  // Reasons are cut at 4,096 characters where they are made.
  [FrameType.Reset]: 32 * KIB,
  [FrameType.StopSending]: 32 * KIB,
  // A log line of 128 Ki characters.
  [FrameType.Signal]: 384 * KIB + 2,
  [FrameType.Pause]: 0,
  [FrameType.Paused]: 0,
  [FrameType.Splice]: 4,
};

export const ISOLATE_BOUNDS: FrameBounds = {
  payload: type => PAYLOAD_BYTES[type] ?? 0,
  openHead: () => MAX_CALL_HEAD_BYTES + INVOCATION_BYTES,
  // The most expensive, refused calls, take 25 us each: 3 ms.
  framesAtOnce: 128,
  // Arguments of 15 KiB with as many names as they may have take 1 to 2 ms, and are charged when they have been parsed.
  parsedBytesAtOnce: 8 * KIB,
};
