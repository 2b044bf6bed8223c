/** Uses a core indefinitely. */
import process from 'node:process';

process.once('disconnect', () => process.exit(0));
process.send?.({ port: 0 });
// In short steps, so that the end of the connection is noticed.
setInterval(() => {
  for (const until = Date.now() + 200; Date.now() < until; );
}, 0);
