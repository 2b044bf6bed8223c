import type { Benchmark } from '../benchmark.js';
import { besideBombs } from '../containment/bombing.js';
import { CPU_BOMBS, MEMORY_BOMBS } from '../containment/bombs.js';
import { besideHoards } from '../containment/hoarding.js';
import { HIJACKED_HOARDS, HOARDS, NATIVE_HOARDS } from '../containment/hoards.js';

const KINDS = MEMORY_BOMBS.length + CPU_BOMBS.length;
/** The program that plays them all. */
const BOMBS = 'bombs';

export const containment: Benchmark = {
  name: 'containment',
  isOptional: true,
  measures: `${KINDS} kinds of memory and CPU bombs, each once a round, in four accounts at once, while two other accounts are asked every 5 ms each, and one more function of each bombing account every 50 ms. Then hoards, each in an application of its own with a heap of 2 GB: after 300 honest requests that read six objects each, functions that make the host hold memory and descriptors for them, and cells that were taken over, by JavaScript and by native code (which needs cc).`,
  floor:
    'for hoards, the host without them; else none: what is counted should be zero. A round of bombs takes some 15 seconds. Give it 100 rounds, at once or in several runs.',
  programs: [BOMBS, ...[...HOARDS, ...HIJACKED_HOARDS, ...NATIVE_HOARDS].map(({ name }) => name)],
  async run(context) {
    const { programs } = context;
    return [
      ...(programs.includes(BOMBS) ? await besideBombs(context) : []),
      ...(await besideHoards(context, programs)),
    ];
  },
};
