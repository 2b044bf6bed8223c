/** To be imported before tests of the S3 endpoint: it is behind a server of HTTP/2. */
import { useHttp2 } from './endpoint.js';

useHttp2();
