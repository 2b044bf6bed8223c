// Writes the tables of limits between <!-- limits --> and <!-- /limits --> in docs/limits.md, from the one table in
// dist/src/quotas/limits.js. With --check it changes nothing and fails when the file differs.
import { formatValue } from '../dist/src/quotas/limit-error.js';
import { INVOCATION_KINDS, LIMITS, PLANS, ZONE_PLANS } from '../dist/src/quotas/limits.js';
import { table, writeSection } from './markdown-table.mjs';

/** A limit with one possible value is left out, as it cannot be configured. */
const rows = Object.entries(LIMITS)
  .map(([name, row]) => ({ name, ...row }))
  .filter(({ min, max }) => min !== max);

/** Bytes are those of the specification's KB and MB, in units of 1,024. */
const figure = (value, unit) => formatValue(value, unit).replace('KiB', 'KB').replace('MiB', 'MB').replace('GiB', 'GB');

function figureByKind(row, plan) {
  const byKind = row.values[plan];
  const kinds = new Map();
  for (const kind of INVOCATION_KINDS) kinds.set(byKind[kind], [...(kinds.get(byKind[kind]) ?? []), kind]);
  if (kinds.size === 1) return figure(byKind.fetch, row.unit);
  return [...kinds].map(([value, names]) => `${figure(value, row.unit)} (${names.join(', ')})`).join('; ');
}

const byPlan = table(
  ['limit', 'what', ...PLANS, 'source'],
  rows
    .filter(row => row.by !== 'zonePlan')
    .map(row => [
      `\`${row.name}\``,
      row.label,
      ...PLANS.map(plan => (row.by === 'kind' ? figureByKind(row, plan) : figure(row.values[plan], row.unit))),
      row.source,
    ]),
);
const byZonePlan = table(
  ['limit', 'what', ...ZONE_PLANS, 'source'],
  rows
    .filter(row => row.by === 'zonePlan')
    .map(row => [
      `\`${row.name}\``,
      row.label,
      ...ZONE_PLANS.map(plan => figure(row.values[plan], row.unit)),
      row.source,
    ]),
);
const text = `By the plan of the account:\n\n${byPlan}\n\nBy the plan of its zones:\n\n${byZonePlan}`;
writeSection('limits', ['docs/limits.md'], text, '.scripts/limits-table.mjs');
