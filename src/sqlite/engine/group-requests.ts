/** Requests about SQL databases: the jobs of a group run one after the other, in connections that stay open for the next group. */
import process from 'node:process';
import { LRUCache } from 'lru-cache';
import { SQL_LIMITS } from '../limits.js';
import { Answers } from './answers.js';
import { DatabaseConnection } from './connection.js';
import type { GroupHead } from './frames.js';
import { isQuick, type Job, runReading, runTogether, runWriting } from './run-jobs.js';
import { NONE, running } from './serving.js';
import type { SqliteLibrary } from './sqlite.js';

const OPEN_CONNECTIONS = 16;
/** Above this part of the allowed memory, once it has released all that it can, the process ends between two groups. */
const WORN = 0.75;

const connections = new LRUCache<string, DatabaseConnection>({
  max: OPEN_CONNECTIONS,
  dispose: connection => connection.close(),
});

export function closeConnections(path: string): void {
  connections.delete(`read ${path}`);
  connections.delete(`write ${path}`);
}

export function answerGroup(library: SqliteLibrary, group: GroupHead, payload: Buffer): void {
  const jobs: Job[] = [];
  let at = 0;
  for (const head of group.jobs) {
    jobs.push({ head, payload: payload.subarray(at, at + head.bytes) });
    at += head.bytes;
  }
  runGroup(library, group, jobs);
}

function runGroup(library: SqliteLibrary, group: GroupHead, jobs: readonly Job[]): void {
  const answers = new Answers();
  running[0] = 0;
  let connection: DatabaseConnection;
  try {
    connection = open(library, group);
  } catch (error) {
    const text = JSON.stringify({ e: `${error instanceof Error ? error.message : 'unknown'}: SQLITE_CANTOPEN` });
    for (let job = 0; job < jobs.length; job++) answers.add(job, { outcome: 'done', text, isFailure: true }, 0);
    running[0] = NONE;
    answers.flush(false);
    return;
  }
  if (group.mode === 'write' && jobs.length > 1) runAtOnce(connection, jobs, answers);
  else connection = runInTurn(library, group, jobs, answers) ?? connection;
  running[0] = NONE;
  answers.flush(isWorn());
  afterGroup(group, connection);
}

function runAtOnce(connection: DatabaseConnection, jobs: readonly Job[], answers: Answers): void {
  const results = runTogether(connection, jobs, index => {
    running[0] = index;
  });
  results.forEach((result, job) => void answers.add(job, result, result.tookMs ?? 0));
}

/** Answers of quick jobs go together: each write wakes the host, which takes longer than they do. */
function runInTurn(
  library: SqliteLibrary,
  group: GroupHead,
  jobs: readonly Job[],
  answers: Answers,
): DatabaseConnection | undefined {
  let connection: DatabaseConnection | undefined;
  jobs.forEach((job, index) => {
    const own = open(library, group);
    connection = own;
    if (answers.count > 0 && !isQuick(own, job)) answers.flush(false);
    running[0] = index;
    const begun = performance.now();
    const result = group.mode === 'write' ? runWriting(own, job) : runReading(own, job);
    answers.add(index, result, performance.now() - begun);
    if (index < jobs.length - 1) dropSettings(group, own);
  });
  return connection;
}

/** Work behind the last answer of a group, which does not wait for it. */
function afterGroup(group: GroupHead, connection: DatabaseConnection): void {
  try {
    if (group.mode === 'write') connection.checkpoint();
  } catch {
    // The log is as long as it is until the next group.
  }
  dropSettings(group, connection);
}

/** Settings last for the call that made them. */
function dropSettings({ mode, path }: GroupHead, { authorizer }: DatabaseConnection): void {
  if (authorizer.hasSettings) connections.delete(`${mode} ${path}`);
}

/** Compiled statements of many databases add up. Freed memory may still belong to the process. */
function isWorn(): boolean {
  if (Atomics.exchange(running, 1, 0) === 0) return false;
  for (const connection of connections.values()) connection.shrink();
  return process.memoryUsage.rss() > SQL_LIMITS.processBytes * WORN;
}

function open(library: SqliteLibrary, { path, mode, maxBytes }: GroupHead): DatabaseConnection {
  const key = `${mode} ${path}`;
  let connection = connections.get(key);
  if (connection === undefined) {
    connection = new DatabaseConnection(library, path, mode);
    connections.set(key, connection);
  }
  connection.bound(maxBytes);
  return connection;
}
