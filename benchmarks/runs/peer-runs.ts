/** Other sandboxes for code that was just written, with the same run: a realm of its own each time, a time limit and a memory limit. */
import process from 'node:process';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond, medianMicroseconds } from '../measuring/workload.js';
import { installPeer } from '../peers/install.js';
import { exportOf } from '../peers/peer.js';
import { RUN_CODE, RUN_INPUT } from './run-text.js';

const AT_ONCE = 16;
const CPU_MS = 500;
const MEMORY_BYTES = 64e6;

interface RunPeer {
  readonly name: string;
  readonly packages: readonly string[];
  /** A note about its values. */
  readonly note: string;
  /** Runs RUN_CODE, and answers what it returns. @param folder where its packages are */
  start(folder: string): Promise<() => Promise<unknown>>;
}

/** Neither has web APIs; the code gets as much of them as it uses. */
const PROGRAM = `
class URL {
  constructor(href) { this.base = href; this.searchParams = new Map(); }
  get href() { return this.base + '?' + [...this.searchParams].map(pair => pair.map(encodeURIComponent).join('=')).join('&'); }
}
const console = { log() {} };
(input => JSON.stringify((() => {${RUN_CODE}})()))(JSON.parse(inputText));
`;

const INPUT_TEXT = JSON.stringify(RUN_INPUT);

/** The part of isolated-vm that is used here. */
type IsolateClass = new (options: {
  memoryLimit: number;
}) => {
  createContext(): Promise<{ readonly global: { set(name: string, value: string): Promise<void> } }>;
  compileScript(source: string): Promise<{ run(context: object, options: object): Promise<unknown> }>;
  dispose(): void;
};

/** The part of quickjs-emscripten that is used here. */
interface QuickJs {
  newRuntime(): {
    setMemoryLimit(bytes: number): void;
    setInterruptHandler(isOver: () => boolean): void;
    newContext(): {
      readonly global: object;
      newString(text: string): Handle;
      setProp(target: object, name: string, value: Handle): void;
      evalCode(source: string): object;
      unwrapResult(result: object): Handle;
      dump(value: Handle): unknown;
      dispose(): void;
    };
    dispose(): void;
  };
}

interface Handle {
  dispose(): void;
}

const RUN_PEERS: readonly RunPeer[] = [
  {
    name: 'isolated-vm',
    packages: [Number(process.versions.node.split('.')[0]) < 22 ? 'isolated-vm@5' : 'isolated-vm'],
    note: 'A new isolate for each run, in the process of the application. No web APIs.',
    async start(folder) {
      const Isolate = exportOf(folder, 'isolated-vm', 'Isolate') as IsolateClass; // as its documentation says
      return async () => {
        const isolate = new Isolate({ memoryLimit: MEMORY_BYTES / 1e6 });
        try {
          const context = await isolate.createContext();
          await context.global.set('inputText', INPUT_TEXT);
          const script = await isolate.compileScript(PROGRAM);
          return JSON.parse(String(await script.run(context, { timeout: CPU_MS })));
        } finally {
          isolate.dispose();
        }
      };
    },
  },
  {
    name: 'quickjs-emscripten',
    packages: ['quickjs-emscripten'],
    note: 'An interpreter in the thread of the application, which stands still meanwhile. A new runtime for each run. No web APIs.',
    async start(folder) {
      const getQuickJS = exportOf(folder, 'quickjs-emscripten', 'getQuickJS') as () => Promise<QuickJs>; // as documented
      const quickJs = await getQuickJS();
      return async () => {
        const runtime = quickJs.newRuntime();
        const context = runtime.newContext();
        try {
          runtime.setMemoryLimit(MEMORY_BYTES);
          const untilMs = Date.now() + CPU_MS;
          runtime.setInterruptHandler(() => Date.now() > untilMs);
          const text = context.newString(INPUT_TEXT);
          context.setProp(context.global, 'inputText', text);
          text.dispose();
          const answer = context.unwrapResult(context.evalCode(PROGRAM));
          const value = JSON.parse(String(context.dump(answer)));
          answer.dispose();
          return value;
        } finally {
          context.dispose();
          runtime.dispose();
        }
      };
    },
  },
];

/** A peer that cannot be installed is left out, with a message. */
export async function measurePeerRuns(context: BenchmarkContext): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const peer of RUN_PEERS) {
    try {
      context.progress(`installing ${peer.packages.join(' ')}`);
      figures.push(...(await measure(peer, context)));
    } catch (error) {
      context.progress(`runs of ${peer.name} skipped: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return figures;
}

async function measure({ name, packages, note, start }: RunPeer, context: BenchmarkContext): Promise<Figure[]> {
  const { seconds } = context;
  const run = await start(await installPeer({ name: `${name}-runs`, packages }, context.folder));
  const value: unknown = await run();
  if (typeof value !== 'object' || value === null || !('report' in value)) throw new Error('The run returned nothing');
  const progress = (text: string): void => context.progress(`${name}, ${text}`);
  const samples = await alternate(
    { ...context, progress },
    {
      run: async () => (await medianMicroseconds(run, seconds)) / 1000,
      'runs at once': () => callsPerSecond(run, AT_ONCE, seconds),
    },
  );
  return [
    { name: `${name}: run of 20 lines, p50`, unit: 'ms', samples: samples.run, note },
    { name: `${name}: runs, ${AT_ONCE} at once`, unit: 'calls/s', samples: samples['runs at once'] },
  ];
}
