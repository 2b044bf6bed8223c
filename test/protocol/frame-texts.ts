/** What frames say, one text for each, in their order. */
import { type FrameBounds, FrameReader, type FrameSink } from '../../src/protocol/frames/frame-reader.js';

export interface Listening {
  readonly seen: string[];
  readonly reader: FrameReader;
}

/** `longest`: what is longer shows as its length. */
export function listening(bounds?: FrameBounds, longest = 20): Listening {
  const short = (text: string): string => (text.length > longest ? `[${text.length}]` : text);
  const shortBytes = (bytes: Buffer): string => (bytes.length > longest ? `[${bytes.length}]` : bytes.toString());
  const seen: string[] = [];
  const end = (isComplete: boolean): string => (isComplete ? '.' : '...');
  const sink: FrameSink = {
    onOpen: (id, kind, head, body, isComplete) =>
      seen.push(`open ${id} ${kind} ${short(head)} ${shortBytes(body)}${end(isComplete)}`),
    onReply: (id, status, head, body, isComplete) =>
      seen.push(`reply ${id} ${status} ${short(head)} ${shortBytes(body)}${end(isComplete)}`),
    onData: (id, chunk) => seen.push(`data ${id} ${shortBytes(chunk)}`),
    onEnd: id => seen.push(`end ${id}`),
    onCredit: (id, bytes) => seen.push(`credit ${id} ${bytes}`),
    onReset: (id, reason) => seen.push(`reset ${id} ${short(reason)}`),
    onStopSending: (id, reason) => seen.push(`stop sending ${id} ${short(reason)}`),
    onSignal: (id, kind, payload) => seen.push(`signal ${id} ${kind} ${shortBytes(payload)}`),
    onPause: id => seen.push(`pause ${id}`),
    onPaused: id => seen.push(`paused ${id}`),
    onSplice: (id, from) => seen.push(`splice ${id} ${from}`),
  };
  return { seen, reader: new FrameReader(sink, bounds) };
}

export function frameTexts(parts: readonly Buffer[]): string[] {
  const { seen, reader } = listening();
  reader.push(Buffer.concat(parts));
  return seen;
}
