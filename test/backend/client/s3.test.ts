/** The tests of the S3 endpoint, on buckets whose storage is at the other end of a connection. */
import './use-remote-buckets.js';
import '../../s3/attributes.test.js';
import '../../s3/body.test.js';
import '../../s3/deletes.test.js';
import '../../s3/failing-bodies.test.js';
import '../../s3/operations.test.js';
import '../../s3/uploads.test.js';
