/** To be imported before tests of the S3 endpoint: their buckets are used over a connection. */
import { useRemoteBuckets } from '../../s3/endpoint.js';

useRemoteBuckets();
