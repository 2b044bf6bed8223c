/** Where a value is: in one record, in one file, or in a list of both. */
export type BlobRef =
  | { readonly kind: 'inline'; readonly id: string }
  | { readonly kind: 'file'; readonly id: string }
  | { readonly kind: 'list'; readonly id: string };

/** One entry of a blob list. */
export interface BlobSegment {
  readonly kind: 'inline' | 'file';
  readonly id: string;
  readonly size: number;
}

export function encodeBlobList(segments: readonly BlobSegment[]): Uint8Array {
  return Buffer.from(JSON.stringify(segments.map(({ kind, id, size }) => [kind === 'file' ? 1 : 0, id, size])));
}

export function decodeBlobList(bytes: Buffer): BlobSegment[] {
  const list: [0 | 1, string, number][] = JSON.parse(bytes.toString());
  return list.map(([file, id, size]) => ({ kind: file === 1 ? 'file' : 'inline', id, size }));
}
