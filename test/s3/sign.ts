import { createHash, createHmac } from 'node:crypto';

/** A signer of its own for tests: nothing of it is shared with the code under test, and it can be made to lie. */

export interface SignOptions {
  readonly host?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly region?: string;
  readonly body?: Uint8Array | string | null;
  /** Signed. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent, but not signed. */
  readonly unsignedHeaders?: Readonly<Record<string, string>>;
  readonly payloadHash?: string;
  readonly date?: Date;
  /** Sign into the query, for so many seconds. */
  readonly presignSeconds?: number;
}

export interface Signed {
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly signature: string;
  readonly key: Buffer;
  readonly dateTime: string;
  readonly scope: string;
}

export function signRequest(method: string, target: string, options: SignOptions): Signed {
  const { region = 'us-east-1', date = new Date(), accessKeyId = '', secretAccessKey = '' } = options;
  const dateTime = date.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${dateTime.slice(0, 8)}/${region}/s3/aws4_request`;
  const key = ['s3', 'aws4_request'].reduce(
    hmac,
    hmac(hmac(Buffer.from(`AWS4${secretAccessKey}`), dateTime.slice(0, 8)), region),
  );
  const isPresigned = options.presignSeconds !== undefined;
  const payloadHash = options.payloadHash ?? (isPresigned ? 'UNSIGNED-PAYLOAD' : sha256(options.body ?? ''));
  const signedHeaders: Record<string, string> = {
    host: options.host ?? '',
    ...(isPresigned ? {} : { 'x-amz-content-sha256': payloadHash, 'x-amz-date': dateTime }),
    ...options.headers,
  };
  const names = Object.keys(signedHeaders).sort();
  let full = target;
  if (isPresigned) {
    const query = {
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': `${accessKeyId}/${scope}`,
      'X-Amz-Date': dateTime,
      'X-Amz-Expires': String(options.presignSeconds),
      'X-Amz-SignedHeaders': names.join(';'),
    };
    const text = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    full += `${target.includes('?') ? '&' : '?'}${text.join('&')}`;
  }
  const [path = '', query = ''] = full.split('?', 2);
  const canonicalQuery = query
    .split('&')
    .filter(item => item !== '')
    .map(item => (item.includes('=') ? item : `${item}=`))
    .sort()
    .join('&');
  const canonicalHeaders = names.map(name => `${name}:${signedHeaders[name]?.trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [method, path, canonicalQuery, canonicalHeaders, names.join(';'), payloadHash].join('\n');
  const text = `AWS4-HMAC-SHA256\n${dateTime}\n${scope}\n${sha256(Buffer.from(canonical, 'latin1'))}`;
  const signature = hmac(key, text).toString('hex');
  const headers: Record<string, string> = { ...signedHeaders, ...options.unsignedHeaders };
  if (isPresigned) full += `&X-Amz-Signature=${signature}`;
  else {
    headers.authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  }
  return { target: full, headers, signature, key, dateTime, scope };
}

/** A body of signed chunks; `trailer` is signed when it is given. */
export function signedChunks(
  signed: Pick<Signed, 'signature' | 'key' | 'dateTime' | 'scope'>,
  chunks: readonly Uint8Array[],
  trailer?: Readonly<Record<string, string>>,
): Buffer {
  let previous = signed.signature;
  const out: (Buffer | Uint8Array)[] = [];
  for (const chunk of [...chunks, Buffer.alloc(0)]) {
    const head = `AWS4-HMAC-SHA256-PAYLOAD\n${signed.dateTime}\n${signed.scope}\n${previous}\n${sha256('')}`;
    previous = hmac(signed.key, `${head}\n${sha256(chunk)}`).toString('hex');
    out.push(Buffer.from(`${chunk.length.toString(16)};chunk-signature=${previous}\r\n`), chunk);
    if (chunk.length > 0) out.push(Buffer.from('\r\n'));
  }
  if (trailer !== undefined) {
    const lines = Object.entries(trailer);
    const hash = sha256(lines.map(([name, value]) => `${name}:${value}\n`).join(''));
    const signature = hmac(
      signed.key,
      `AWS4-HMAC-SHA256-TRAILER\n${signed.dateTime}\n${signed.scope}\n${previous}\n${hash}`,
    ).toString('hex');
    for (const [name, value] of [...lines, ['x-amz-trailer-signature', signature]]) {
      out.push(Buffer.from(`${name}:${value}\r\n`));
    }
  }
  out.push(Buffer.from('\r\n'));
  return Buffer.concat(out);
}

function sha256(data: Uint8Array | string): string {
  return createHash('sha256').update(data).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
