/** The process of the SQL engine: it takes requests of the host one after the other. A process works for one account, on files of one folder. */
import process from 'node:process';
import { type CloseHead, frame, type GroupHead } from './frames.js';
import { answerGroup, closeConnections } from './group-requests.js';
import type { ObjectRequest } from './objects/object-messages.js';
import { answerObject, closeObject } from './objects/object-requests.js';
import { serve, startWatch, write } from './serving.js';
import { loadSqlite, type SqliteLibrary } from './sqlite.js';

startWatch();
const library = await loaded();
serve((given, payload) => {
  const head = given as CloseHead | ObjectRequest | GroupHead; // the host's
  if ('close' in head) {
    closeConnections(head.close);
    closeObject(head.close);
  } else if ('op' in head) answerObject(library, head, payload);
  else answerGroup(library, head, payload);
});

async function loaded(): Promise<SqliteLibrary> {
  try {
    return await loadSqlite();
  } catch (error) {
    write(frame({ fatal: error instanceof Error ? error.message : 'unknown' }, []));
    process.exit(1);
  }
}
