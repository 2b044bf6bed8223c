/**
 * The process of the engine: it runs jobs one after the other, on its only thread, and waits for the next one meanwhile. Nothing can interrupt SQLite
 * from within, so a thread beside (watch.ts) ends the whole process when it is told to, or when there is too little memory, or when the host is gone.
 */
import { readSync, writevSync } from 'node:fs';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { Connection, type ConnectionMode } from './connection.js';
import { FrameReader, frame, type GroupHead, type RequestHead } from './frames.js';
import { type Job, type JobResult, runReading, runTogether, runWriting } from './run-jobs.js';
import { loadSqlite, type SqliteLibrary } from './sqlite.js';

/** A pipe of its own, which blocks: Node opens the standard ones without. */
const IN = 4;
const OUT = 4;
const CHUNK = 64 * 1024;
const OPEN_CONNECTIONS = 16;

/** The job that runs, for the thread beside: its index, -1 while a transaction ends, -2 while there is none. */
const running = new Int32Array(new SharedArrayBuffer(4));
const NONE = -2;

const connections = new LRUCache<string, Connection>({
  max: OPEN_CONNECTIONS,
  dispose: connection => connection.close(),
});

running[0] = NONE;
new Worker(new URL('./watch.js', import.meta.url), {
  workerData: running,
  resourceLimits: { maxOldGenerationSizeMb: 16 },
});
await serve();

async function serve(): Promise<void> {
  let library: SqliteLibrary;
  try {
    library = await loadSqlite();
  } catch (error) {
    write(frame({ fatal: error instanceof Error ? error.message : 'unknown' }));
    process.exit(1);
  }
  const reader = new FrameReader((head, payload) => receive(library, head as RequestHead, payload)); // the host's
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (;;) {
    const length = readSync(IN, buffer);
    if (length === 0) process.exit(0);
    reader.push(Buffer.from(buffer.subarray(0, length)));
  }
}

function receive(library: SqliteLibrary, head: RequestHead, payload: Buffer): void {
  if ('close' in head) {
    connections.delete(`read ${head.close}`);
    connections.delete(`write ${head.close}`);
    return;
  }
  const jobs: Job[] = [];
  let at = 0;
  for (const job of head.jobs) {
    jobs.push({ head: job, payload: payload.subarray(at, at + job.bytes) });
    at += job.bytes;
  }
  runGroup(library, head, jobs);
}

function runGroup(library: SqliteLibrary, group: GroupHead, jobs: readonly Job[]): void {
  let connection: Connection;
  const begun = process.cpuUsage();
  running[0] = 0;
  try {
    connection = open(library, group.path, group.mode);
    connection.bound(group.maxBytes);
  } catch (error) {
    const text = JSON.stringify({ e: `${error instanceof Error ? error.message : 'unknown'}: SQLITE_CANTOPEN` });
    for (let job = 0; job < jobs.length; job++)
      reply(group.group, job, { outcome: 'done', text, isFailure: true }, 0, 0);
    running[0] = NONE;
    return;
  }
  if (group.mode === 'write' && jobs.length > 1) {
    const results = runTogether(connection, jobs, index => {
      running[0] = index;
    });
    const cpuUs = usedUs(begun) / jobs.length;
    const { size } = connection;
    results.forEach((result, job) => void reply(group.group, job, result, cpuUs, size));
  } else {
    let usage = begun;
    jobs.forEach((job, index) => {
      running[0] = index;
      const own = open(library, group.path, group.mode);
      own.bound(group.maxBytes);
      const result = group.mode === 'write' ? runWriting(own, job) : runReading(own, job);
      reply(group.group, index, result, usedUs(usage), own.size);
      usage = process.cpuUsage();
      // Settings last for the call that made them.
      if (own.authorizer.hasSettings) connections.delete(`${group.mode} ${group.path}`);
    });
  }
  running[0] = NONE;
}

function open(library: SqliteLibrary, path: string, mode: ConnectionMode): Connection {
  const key = `${mode} ${path}`;
  let connection = connections.get(key);
  if (connection === undefined) {
    connection = new Connection(library, path, mode);
    connections.set(key, connection);
  }
  return connection;
}

function usedUs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

function reply(group: number, job: number, { outcome, text, isFailure }: JobResult, cpuUs: number, size: number): void {
  const head = { group, job, outcome, cpuUs, size, ...(isFailure && { isFailure }) };
  write(frame(head, Buffer.from(text)));
}

function write(parts: readonly Buffer[]): void {
  let rest = parts.filter(part => part.length > 0);
  while (rest.length > 0) {
    let written = writevSync(OUT, rest);
    while (rest[0] !== undefined && written >= rest[0].length) {
      written -= rest[0].length;
      rest = rest.slice(1);
    }
    if (written > 0 && rest[0] !== undefined) rest = [rest[0].subarray(written), ...rest.slice(1)];
  }
}
