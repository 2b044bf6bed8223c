/** Sends each request's body back. */
import { listen } from './listen.js';

listen((request, response) => {
  request.pipe(response);
});
