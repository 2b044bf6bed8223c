/**
 * The id of a blob file is its place below the folder of all, and the checksum of its bytes: `<directory>/<number>.<CRC-32 in hexadecimal>`. The checksum comes
 * with each reference to the file, and costs no read. Files of earlier releases have none.
 */

const FILE_BLOB_ID = /^([a-z0-9]+-\d+\/\d+)(?:\.([0-9a-f]{8}))?$/;

export interface FileBlobId {
  readonly file: string;
  readonly sum: number | undefined;
}

/** Returns undefined for a text that is no id, which a damaged record can hold. */
export function parseFileBlobId(id: string): FileBlobId | undefined {
  const [, file, sum] = FILE_BLOB_ID.exec(id) ?? [];
  if (file === undefined) return undefined;
  return { file, sum: sum === undefined ? undefined : Number.parseInt(sum, 16) };
}

/** The value of the record which says that a file is in use. A check of the storage compares the file with it. */
export function fileBlobRecord(id: string, size: number): Uint8Array {
  return Buffer.from(`${size} ${id}`);
}

/** undefined: the record is of an earlier release, which kept nothing there. */
export function parseFileBlobRecord(record: Buffer): { readonly size: number; readonly sum: number } | undefined {
  const [size = '', id = ''] = record.toString('latin1').split(' ', 2);
  const sum = parseFileBlobId(id)?.sum;
  return sum === undefined ? undefined : { size: Number(size), sum };
}

export function fileBlobId(file: string, sum: number): string {
  return `${file}.${sum.toString(16).padStart(8, '0')}`;
}
