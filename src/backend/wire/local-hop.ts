/** A hop of a fetch that a function of the application may answer, as it crosses between the backend process and the application. */
import type { HopAnswer } from '../../bindings/egress/transport.js';

export interface LocalHead {
  /** The function that fetches, its connection and its invocation. */
  readonly key: number;
  readonly connection: number;
  readonly id: number;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly contentLength?: number;
}

export type LocalAnswerHead = Omit<HopAnswer, 'body'>;

export function parseLocalHead(text: string): LocalHead {
  return JSON.parse(text); // written by the backend process
}

export function parseHopAnswer(text: string): LocalAnswerHead {
  return JSON.parse(text); // written by the application
}
