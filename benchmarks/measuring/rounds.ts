/** Alternating rounds: every subject once a round, in an order that turns round with each, so that a drift of the machine meets all. */
import type { BenchmarkContext } from '../benchmark.js';

export type Subjects<N extends string> = Readonly<Record<N, (round: number) => Promise<number>>>;

/** One sample a round for each subject. */
export async function alternate<N extends string>(
  { rounds, progress }: Pick<BenchmarkContext, 'rounds' | 'progress'>,
  subjects: Subjects<N>,
): Promise<Record<N, number[]>> {
  // Object.keys gives the keys of the record, which its type does not say.
  const names = Object.keys(subjects) as N[];
  const samples = Object.fromEntries(names.map(name => [name, []])) as unknown as Record<N, number[]>; // as just built
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await subjects[name](round);
      samples[name].push(sample);
      progress(`round ${round + 1}/${rounds}, ${name}: ${sample.toPrecision(4)}`);
    }
  }
  return samples;
}
