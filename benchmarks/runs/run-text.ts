/** The run that is measured, here and in peers. */

/** Twenty lines, as a model writes them. */
export const RUN_CODE = `
const { rows, threshold } = input;
const byCountry = new Map();
for (const row of rows) {
  const list = byCountry.get(row.country) ?? [];
  list.push(row);
  byCountry.set(row.country, list);
}
const report = [];
for (const [country, list] of byCountry) {
  const total = list.reduce((sum, { amount }) => sum + amount, 0);
  if (total < threshold) continue;
  const names = list.map(({ name }) => name.trim().toLowerCase()).sort();
  report.push({ country, total, average: total / list.length, names });
}
report.sort((a, b) => b.total - a.total);
const url = new URL('https://example.com/report');
url.searchParams.set('countries', report.map(({ country }) => country).join(','));
console.log('countries', report.length);
return { report, url: url.href };
`;

export const RUN_INPUT = {
  threshold: 100,
  rows: Array.from({ length: 40 }, (_, i) => ({
    name: ` Name ${i}`,
    country: ['NO', 'DE', 'FR'][i % 3],
    amount: i * 3,
  })),
};
