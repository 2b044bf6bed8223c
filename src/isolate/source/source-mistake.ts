/** A mistake in a source, by its index. It is no SyntaxError: the parser of TypeScript tries another way after one of those. */
export class SourceMistake {
  readonly message: string;
  readonly pos: number;
  /** How far the text was parsed: no other language is tried. */
  readonly raisedAt = Number.POSITIVE_INFINITY;

  constructor(message: string, pos: number) {
    this.message = message;
    this.pos = pos;
  }
}
