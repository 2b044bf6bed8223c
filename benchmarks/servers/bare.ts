/** The floor of HTTP: answers each request with the text of the measured function; a body is read to its end first. */
import { listen } from './listen.js';

listen((request, response) => {
  const answer = (): void => {
    response.writeHead(200, { 'content-type': 'text/plain;charset=UTF-8', 'content-length': 21 });
    response.end('Hello from a function');
  };
  if (request.method === 'POST') {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', answer);
  } else answer();
});
