/** The exchange of a body, and its channel, as a test sees them. */
import {
  type BodyCarrier,
  type BodyOwner,
  type ExchangeListener,
  WINDOW_BYTES,
} from '../../src/protocol/bodies/body-owner.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import { frameTexts } from './frame-texts.js';

export class ScriptedOwner implements BodyOwner {
  readonly id: number;
  /** What was reported, since the last look at it. */
  #reports: string[] = [];
  readonly #writer = new FrameWriter();
  queuedBytes = 0;
  backlogBytes = 0;
  flushes = 0;
  isBackpressured = false;
  isUnderMemoryPressure = false;
  onData: () => void = () => {};
  readonly carrier: BodyCarrier;
  readonly listener: ExchangeListener;

  refuse(reason: string): void {
    this.#reports.push(`refuse ${reason.split('\n')[1]}`);
  }

  constructor(id = 7) {
    this.id = id;
    const report = (text: string): void => void this.#reports.push(text);
    const isBackpressured = (): boolean => this.isBackpressured;
    const isUnderMemoryPressure = (): boolean => this.isUnderMemoryPressure;
    this.carrier = {
      writer: this.#writer,
      windowBytes: WINDOW_BYTES,
      get isBackpressured() {
        return isBackpressured();
      },
      get isUnderMemoryPressure() {
        return isUnderMemoryPressure();
      },
      scheduleFlush: () => {
        this.flushes++;
      },
      countQueued: bytes => {
        this.queuedBytes += bytes;
      },
      countBacklog: bytes => {
        this.backlogBytes += bytes;
      },
    };
    this.listener = {
      onReply: () => report('reply'),
      onData: () => {
        report('data');
        this.onData();
      },
      onCredit: () => report('credit'),
      onSent: () => report('sent'),
      onStop: reason => report(`stop ${reason}`),
      onFail: reason => report(`fail ${reason}`),
    };
  }

  forgetIfOver(): void {
    this.#reports.push('over?');
  }

  resumeWhenDrained(): void {
    this.#reports.push('wait for drain');
  }

  /** What was reported since the last call. */
  reports(): string[] {
    return this.#reports.splice(0);
  }

  /** The frames written since the last call; each is to be flushed. */
  frames(): string[] {
    return frameTexts(this.#writer.take());
  }
}
