import type { Benchmark } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { timed } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import { startServer } from '../subprocess.js';

/** The same text runs in the function and in Node. Plain JavaScript, no API of either. */
const WORK = `
function sieve(limit) {
  const composite = new Uint8Array(limit + 1);
  let primes = 0;
  for (let candidate = 2; candidate <= limit; candidate++) {
    if (composite[candidate] === 1) continue;
    primes++;
    for (let multiple = candidate * 2; multiple <= limit; multiple += candidate) composite[multiple] = 1;
  }
  return primes;
}

class Particle {
  constructor(seed) {
    this.x = Math.sin(seed);
    this.y = Math.cos(seed);
    this.speed = { x: this.y / 10, y: this.x / 10 };
  }
  move() {
    this.x += this.speed.x;
    this.y += this.speed.y;
    if (this.x * this.x + this.y * this.y > 4) this.speed = { x: -this.speed.x, y: -this.speed.y };
  }
}

function simulate(count, steps) {
  const particles = Array.from({ length: count }, (_, seed) => new Particle(seed));
  for (let step = 0; step < steps; step++) for (const particle of particles) particle.move();
  return particles.reduce((sum, { x, y }) => sum + x * y, 0);
}

function words(count) {
  const counts = new Map();
  let text = '';
  for (let at = 0; at < count; at++) text += ' word' + ((at * 7919) % 1009);
  for (const word of text.split(/\\s+/)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return JSON.stringify(JSON.parse(JSON.stringify([...counts]))).length;
}

export function work() {
  return sieve(1_000_000) + simulate(1000, 300) + words(40_000);
}
`;

const FUNCTION = `${WORK}
export default {
  fetch() {
    return new Response(String(work()));
  },
};
`;

const RUNS_PER_ROUND = 10;

export const cpu: Benchmark = {
  name: 'cpu',
  measures: `A request whose handler computes for some 15 ms (typed arrays, objects, strings, JSON); the best of ${RUNS_PER_ROUND} in each round.`,
  floor: 'the same JavaScript in Node itself.',
  async run(context) {
    const fn = await startHost(context).load(FUNCTION);
    // In a process of its own and asked by message, as the function is: one that computes all the time is scheduled otherwise.
    const node = await startServer(context, 'worker', [WORK]);
    const subject = async (): Promise<string> => (await fn.fetch('https://example.com/')).text();
    const floor = (): Promise<string> => node.ask();
    for (let at = 0; at < RUNS_PER_ROUND; at++) {
      const [guest, bare] = [await subject(), await floor()];
      if (guest !== bare) throw new Error(`The function computed ${guest}, Node ${bare}`);
    }
    const samples = await alternate(context, {
      'in a function': () => bestTime(subject),
      'bare Node': () => bestTime(floor),
    });
    return [
      {
        name: 'time of the computation',
        unit: 'ms',
        samples: samples['in a function'],
        floor: { name: 'bare Node', samples: samples['bare Node'] },
        target: { of: 'ratio', atMost: 1.05 },
      },
    ];
  },
};

async function bestTime(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < RUNS_PER_ROUND; at++) times.push(await timed(work));
  return Math.min(...times);
}
