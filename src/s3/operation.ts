import type { BucketDirectory, BucketEngine } from '../bindings/bucket/engine.js';
import type { BucketPlanLimits } from '../bindings/bucket/limits.js';
import type { ServiceBody } from '../bindings/service.js';
import type { Identity } from './authenticate.js';
import type { S3Body } from './body.js';
import type { S3Permission, S3Settings } from './options.js';
import type { ChecksumAlgorithm } from './wire/checksum.js';
import type { ParsedElement } from './wire/parse-xml.js';
import type { S3Request } from './wire/request.js';
import { buildXml, type XmlElement, type XmlOptions } from './wire/xml.js';

/** The arguments and results of operations, and their declarations. */

export interface OperationContext {
  readonly request: S3Request;
  readonly identity: Identity;
  readonly settings: S3Settings;
  readonly directory: BucketDirectory;
  readonly limits: BucketPlanLimits;
  /** A bucket that the credential may read; throws S3Error AccessDenied, NoSuchBucket. */
  readonly openBucket: (name: string) => Promise<BucketEngine>;
  /** The body, verified as it flows. Once. */
  readonly receive: (options?: { readonly compute?: ChecksumAlgorithm }) => Promise<S3Body>;
  /** The body as XML with `root` and at most `elementsMax` elements; undefined when it is empty. Used instead of `receive`. */
  readonly receiveXml: (root: string, elementsMax: number) => Promise<ParsedElement | undefined>;
}

export interface S3Answer {
  readonly status: number;
  readonly headers: Iterable<readonly [name: string, value: string]>;
  readonly body: ServiceBody | null;
}

interface OperationFacts {
  readonly permission: S3Permission;
  /** The query parameters it knows, besides the ones common to all requests. All others are answered with NotImplemented. */
  readonly query?: readonly string[];
  /** The same for headers that begin with `x-amz-` or `if-`; one that ends with `*` is a prefix. */
  readonly headers?: readonly string[];
}

export type S3Operation = OperationFacts &
  (
    | { readonly level: 'service'; readonly run: (context: OperationContext) => Promise<S3Answer> }
    /** On the name of a bucket, which need not exist. */
    | { readonly level: 'name'; readonly run: (context: OperationContext, name: string) => Promise<S3Answer> }
    | { readonly level: 'bucket'; readonly run: (context: OperationContext, bucket: BucketEngine) => Promise<S3Answer> }
    | {
        readonly level: 'object';
        readonly run: (context: OperationContext, bucket: BucketEngine, key: string) => Promise<S3Answer>;
      }
  );

export function xmlAnswer(
  root: string,
  content: XmlElement | string,
  headers: Iterable<readonly [string, string]> = [],
  options: XmlOptions = {},
): S3Answer {
  const body = buildXml(root, content, options);
  return { status: 200, headers: [...headers, ['Content-Type', 'application/xml']], body };
}

export function emptyAnswer(status: 200 | 204, headers: Iterable<readonly [string, string]> = []): S3Answer {
  return { status, headers, body: null };
}
