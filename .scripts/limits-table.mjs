// Writes the tables of limits between <!-- limits --> and <!-- /limits --> in README.md and docs/limits.md, from the one table in
// dist/src/quotas/limits.js. With --check it changes nothing and fails when a file differs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { formatFigure } from '../dist/src/quotas/limit-error.js';
import { INVOCATION_KINDS, LIMITS, PLANS, ZONE_PLANS } from '../dist/src/quotas/limits.js';

const rows = Object.entries(LIMITS).map(([name, row]) => ({ name, ...row }));

/** Bytes are those of the specification's KB and MB, in units of 1,024. */
const figure = (value, unit) =>
  formatFigure(value, unit).replace('KiB', 'KB').replace('MiB', 'MB').replace('GiB', 'GB');

function figureByKind(row, plan) {
  const byKind = row.values[plan];
  const kinds = new Map();
  for (const kind of INVOCATION_KINDS) kinds.set(byKind[kind], [...(kinds.get(byKind[kind]) ?? []), kind]);
  if (kinds.size === 1) return figure(byKind.fetch, row.unit);
  return [...kinds].map(([value, names]) => `${figure(value, row.unit)} (${names.join(', ')})`).join('; ');
}

/** Aligned as the formatter does it. */
function table(columns, lines) {
  const widths = columns.map((name, i) => Math.max(name.length, ...lines.map(cells => cells[i].length)));
  const write = cells => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [write(columns), write(widths.map(width => '-'.repeat(width))), ...lines.map(write)].join('\n');
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
const text = `<!-- limits -->\n\nBy the plan of the account:\n\n${byPlan}\n\nBy the plan of its zones:\n\n${byZonePlan}\n\n<!-- /limits -->`;

const isCheck = process.argv.includes('--check');
let failed = false;
for (const name of ['README.md', 'docs/limits.md']) {
  const file = new URL(`../${name}`, import.meta.url);
  if (!existsSync(file)) continue;
  const before = readFileSync(file, 'utf8');
  // A function, for `$` in the text means nothing.
  const after = before.replace(/<!-- limits -->[\s\S]*?<!-- \/limits -->/, () => text);
  if (after === before) continue;
  if (isCheck) {
    console.error(`${name} does not have the limits of the table: run node .scripts/limits-table.mjs`);
    failed = true;
  } else {
    writeFileSync(file, after);
    console.log(`${name} written`);
  }
}
process.exitCode = failed ? 1 : 0;
