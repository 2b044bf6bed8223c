/** The tests of the S3 endpoint, over HTTP/2. */
import './use-http2.js';
import './authenticate.test.js';
import './body.test.js';
import './deletes.test.js';
import './endpoints.test.js';
import './operations.test.js';
import './uploads.test.js';
import './wire/requests.test.js';
