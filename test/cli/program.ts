/** The command edgehost as a process of its own, as a person starts it. What it prints with `--json` are events to wait for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../docs/markdown.js';

export const MAIN = join(ROOT, 'dist/src/cli/main.js');

export type PrintedEvent = Readonly<Record<string, unknown>> & { readonly type: string };

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it leads a group of processes, as what is started in a terminal does. */
  readonly isGroup?: boolean;
  /** Whether a shell stands between, as that of npm does, which passes no signal on. */
  readonly isInShell?: boolean;
}

/** What is left of a program that has ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;
  readonly #events: PrintedEvent[] = [];
  #out = '';
  #err = '';
  #wake: () => void = () => {};
  #isFinished = false;
  /** Events before this one were waited for already. */
  #next = 0;

  /** With `--json` among the arguments what it prints are events. It is ended with the test, however that ends. */
  constructor(t: ExecutionContext, args: readonly string[], options: ProgramOptions = {}) {
    const { cwd, env = {}, isInShell = false, isGroup = isInShell } = options;
    const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env;
    const command = [process.execPath, MAIN, ...args];
    const [file = '', ...rest] = isInShell ? ['sh', '-c', '"$@"; exit $?', 'sh', ...command] : command;
    this.#child = spawn(file, rest, {
      cwd,
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: isGroup,
    });
    const isJson = args.includes('--json');
    let begun = '';
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
      const lines = `${begun}${text}`.split('\n');
      begun = lines.pop() ?? '';
      if (isJson) this.#events.push(...lines.map(line => JSON.parse(line)));
      this.#wake();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text;
    });
    this.#ended = once(this.#child, 'close').then(([code]: (number | null)[]) => {
      this.#isFinished = true;
      this.#wake();
      return { code: code ?? null, out: this.#out, err: this.#err };
    });
    t.teardown(async () => {
      if (!this.#isFinished) this.#child.kill('SIGKILL');
      if (!this.#isFinished && isInShell) killGroup(this.pid);
      await this.#ended;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get out(): string {
    return this.#out;
  }

  /** The next event of this type that looks so; those before it are passed over. */
  async event(type: string, expected: Readonly<Record<string, unknown>> = {}): Promise<PrintedEvent> {
    for (;;) {
      for (; this.#next < this.#events.length; this.#next++) {
        const event = this.#events[this.#next];
        if (event?.type !== type) continue;
        if (Object.entries(expected).some(([key, value]) => event[key] !== value)) continue;
        this.#next += 1;
        return event;
      }
      await this.#more(`the event ${type} ${JSON.stringify(expected)}`);
    }
  }

  /** Waits until it has printed what matches. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#out);
      if (found !== null) return found;
      await this.#more(`text like ${pattern}`);
    }
  }

  /** Where it listens. */
  async url(): Promise<string> {
    const { url } = await this.event('listening');
    return String(url);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child.kill(signal);
    return this.#ended;
  }

  /** As Ctrl-C does: to every process of its group. */
  async interrupt(): Promise<Ended> {
    process.kill(-this.pid, 'SIGINT');
    return this.#ended;
  }

  ended(): Promise<Ended> {
    return this.#ended;
  }

  async #more(awaited: string): Promise<void> {
    if (this.#isFinished) throw new Error(`The program has ended without ${awaited}:\n${this.#out}${this.#err}`);
    await new Promise<void>(resolve => {
      this.#wake = resolve;
    });
  }
}

/** The shell may be gone, and what it has started not. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Runs it to its end. */
export async function edgehost(t: ExecutionContext, args: readonly string[], options?: ProgramOptions): Promise<Ended> {
  return new Program(t, args, options).ended();
}

/** A folder with these files, which is gone after the test. */
export async function folderOf(t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'edgehost-cli-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) await put(join(folder, name), content);
  return folder;
}

/** In one go: a program that watches the file could read it between the steps of an asynchronous write, while it is empty. */
export async function put(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** As many editors save: a new file takes the place of the old one. */
export async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}~`, content);
  await rename(`${path}~`, path);
}

/** A script that answers with a text. */
export function answering(text: string): string {
  return `export default { fetch: () => new Response(${JSON.stringify(text)}) };\n`;
}

export async function textOf(url: string, init?: RequestInit): Promise<string> {
  return (await fetch(url, init)).text();
}
