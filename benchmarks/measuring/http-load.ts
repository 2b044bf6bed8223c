/** Many connections that ask as fast as they are answered, from a process of its own: wrk where it is installed, else autocannon. */
import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface HttpLoad {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** POST with this body instead of GET. */
  readonly body?: string;
  /** For files that the generator needs. */
  readonly folder: string;
}

/** Answered requests a second. Rejects when a status was not 2xx, or a connection failed. */
export function requestsPerSecond(load: HttpLoad): Promise<number> {
  return hasWrk() ? withWrk(load) : withAutocannon(load);
}

let isWrkThere: boolean | undefined;

export function hasWrk(): boolean {
  if (isWrkThere !== undefined) return isWrkThere;
  try {
    execFileSync('wrk', ['-v'], { stdio: 'ignore' });
    isWrkThere = true;
  } catch (error) {
    // It answers -v with status 1; what counts is that there is one.
    isWrkThere = !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
  return isWrkThere;
}

async function withWrk({ url, connections, seconds, headers = {}, body, folder }: HttpLoad): Promise<number> {
  const args = ['-t1', `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}s`];
  for (const [name, value] of Object.entries(headers)) args.push('-H', `${name}: ${value}`);
  if (body !== undefined) {
    const script = join(folder, 'post.lua');
    writeFileSync(script, `wrk.method = "POST"\nwrk.body = ${luaString(body)}\n`);
    args.push('-s', script);
  }
  const { stdout } = await run('wrk', [...args, url]);
  const trouble = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(stdout)?.[0];
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1];
  if (rate === undefined || trouble !== undefined) throw new Error(`The load on ${url} failed: ${trouble ?? stdout}`);
  return Number(rate);
}

function luaString(text: string): string {
  return `"${[...Buffer.from(text)].map(byte => `\\${String(byte).padStart(3, '0')}`).join('')}"`;
}

async function withAutocannon({ url, connections, seconds, headers = {}, body }: HttpLoad): Promise<number> {
  const program = createRequire(import.meta.url).resolve('autocannon');
  const args = [program, '--json', '-c', String(connections), '-d', String(Math.max(1, Math.round(seconds)))];
  for (const [name, value] of Object.entries(headers)) args.push('-H', `${name}=${value}`);
  if (body !== undefined) args.push('-m', 'POST', '-b', body);
  const { stdout } = await run(process.execPath, [...args, url], { maxBuffer: 16 * 1024 * 1024 });
  const result: unknown = JSON.parse(stdout);
  const count = (name: string): number => numberAt(result, name);
  if (count('non2xx') + count('errors') + count('timeouts') > 0)
    throw new Error(`The load on ${url} failed: ${stdout}`);
  return count('2xx') / count('duration');
}

function numberAt(value: unknown, name: string): number {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  if (typeof found !== 'number') throw new Error(`autocannon's report has no ${name}`);
  return found;
}
