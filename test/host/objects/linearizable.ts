/** Checks histories of one counter: whether some order of its operations, in which each took effect between its beginning and its end, explains all values. */
export interface Operation {
  /** `increment` answers the new value, `read` the value. */
  readonly kind: 'increment' | 'read';
  readonly value: number;
  readonly began: number;
  readonly ended: number;
}

/**
 * The values of increments are all different, so their order is given by them, and a read has its place behind the increment that wrote its value. What is
 * left to check is that no operation that had ended stands behind one that began later.
 */
export function isLinearizable(history: readonly Operation[]): boolean {
  const increments = history.filter(({ kind }) => kind === 'increment').map(({ value }) => value);
  if (new Set(increments).size !== increments.length) return false;
  if (history.some(({ kind, value }) => kind === 'read' && value !== 0 && !increments.includes(value))) return false;
  const order = [...history].sort((a, b) => a.value - b.value || rank(a) - rank(b) || a.began - b.began);
  // From the last on: the earliest end of all that stand behind.
  let earliest = Number.POSITIVE_INFINITY;
  for (const { began, ended } of order.reverse()) {
    if (earliest < began) return false;
    earliest = Math.min(earliest, ended);
  }
  return true;
}

function rank({ kind }: Operation): number {
  return kind === 'increment' ? 0 : 1;
}
