/** Tests that need what not every machine has. */
import test, { type ExecutionContext } from 'ava';

export type DeclareTest = (title: string, run: (t: ExecutionContext) => unknown) => void;

/**
 * `test` when nothing is `missing`; else what declares tests that are skipped and have the reason in their titles, by which
 * `.scripts/run-tests.mjs` counts them.
 */
export function unlessMissing(missing: string | undefined): DeclareTest {
  if (missing === undefined) return (title, run) => test(title, run);
  return (title, run) => test.skip(`${title} [${missing.replace(/[[\]]/g, '')}]`, run);
}

export const onLinux = unlessMissing(process.platform === 'linux' ? undefined : 'not Linux');
