import type { BucketEngine } from '../../bindings/bucket/engine.js';
import { emptyAnswer, type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import { BUCKET_NAME, reachesBucket } from '../options.js';
import { invalidArgument, notImplemented, S3Error } from '../wire/errors.js';
import { pageSize } from './parameters.js';

/** The account is the one owner of everything; S3 clients want to see an id. */
export const OWNER = { ID: 'edgehost', DisplayName: 'edgehost' } as const;

/** Lists the buckets that the credential can access, by name. */
export async function listBuckets(context: OperationContext): Promise<S3Answer> {
  const { request, directory, identity } = context;
  const prefix = request.query.get('prefix') ?? '';
  const token = request.query.get('continuation-token');
  const after = token === undefined || token === '' ? '' : Buffer.from(token, 'base64url').toString();
  if (after !== '' && !BUCKET_NAME.test(after)) {
    throw invalidArgument('continuation-token', token ?? '', 'the token of the page before');
  }
  const limit = request.query.has('max-buckets') ? pageSize(request, 'max-buckets') : Number.POSITIVE_INFINITY;
  if (limit < 1) throw invalidArgument('max-buckets', '0', '1 to 10000');
  const buckets = (await directory.list())
    .filter(({ name }) => reachesBucket(identity.credential, name) && name.startsWith(prefix) && name > after)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const page = buckets.slice(0, limit);
  const last = page.at(-1);
  return xmlAnswer('ListAllMyBucketsResult', {
    Owner: OWNER,
    Buckets: {
      Bucket: page.map(({ name, created }) => ({ Name: name, CreationDate: new Date(created).toISOString() })),
    },
    Prefix: prefix === '' ? undefined : prefix,
    ContinuationToken:
      last !== undefined && page.length < buckets.length ? Buffer.from(last.name).toString('base64url') : undefined,
  });
}

export async function headBucket({ settings }: OperationContext): Promise<S3Answer> {
  return emptyAnswer(200, [['x-amz-bucket-region', settings.region || 'us-east-1']]);
}

export async function createBucket(context: OperationContext, name: string): Promise<S3Answer> {
  const { settings, directory } = context;
  if (!BUCKET_NAME.test(name)) {
    throw new S3Error(
      'InvalidBucketName',
      `The bucket name ${JSON.stringify(name.slice(0, 100))} is not valid; allowed are 3 to 63 lower-case letters, digits and "-".`,
    );
  }
  checkObjectLock(context.request.headers.get('x-amz-bucket-object-lock-enabled'));
  const configuration = await context.receiveXml('CreateBucketConfiguration', 20);
  const other = configuration?.names.find(element => element !== 'LocationConstraint');
  if (other !== undefined) {
    throw new S3Error('NotImplemented', `The element ${other} of CreateBucketConfiguration is not supported here.`);
  }
  const location = configuration?.text('LocationConstraint') ?? '';
  if (!settings.regions.has(location)) {
    throw new S3Error(
      'InvalidLocationConstraint',
      `The location ${JSON.stringify(location.slice(0, 100))} is not one of: ${[...settings.regions].filter(Boolean).join(', ')}.`,
    );
  }
  const { created } = await directory.create(name);
  if (!created) throw new S3Error('BucketAlreadyOwnedByYou');
  return emptyAnswer(200, [['Location', `/${name}`]]);
}

export async function deleteBucket({ directory }: OperationContext, name: string): Promise<S3Answer> {
  if ((await directory.find(name)) === null) throw new S3Error('NoSuchBucket');
  await directory.delete(name);
  return emptyAnswer(204);
}

/** us-east-1 is written as the empty location; so is `auto`, which is not a location. */
export async function getBucketLocation({ settings }: OperationContext, _bucket: BucketEngine): Promise<S3Answer> {
  const region = settings.region === 'auto' || settings.region === 'us-east-1' ? '' : settings.region;
  return xmlAnswer('LocationConstraint', region);
}

/** Clients may ask for a bucket without object lock; with it is not supported. */
function checkObjectLock(text: string | undefined): void {
  if (text === undefined || text.toLowerCase() === 'false') return;
  if (text.toLowerCase() === 'true') throw notImplemented('The header x-amz-bucket-object-lock-enabled: true');
  throw invalidArgument('x-amz-bucket-object-lock-enabled', text, 'false');
}
