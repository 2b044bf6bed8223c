// Writes the table of the hosted platform's configuration keys between <!-- wrangler --> and <!-- /wrangler --> in
// docs/from-workers.md, from the table in dist/src/host/deploy/wrangler/keys.js. With --check it changes nothing and
// fails when the file differs.
import { WRANGLER_KEYS } from '../dist/src/host/deploy/wrangler/keys.js';
import { table, writeSection } from './markdown-table.mjs';

const keys = Object.entries(WRANGLER_KEYS).map(([name, row]) => ({ name: `\`${name}\``, ...row }));
const rowsOf = treatment =>
  keys.filter(key => key.treatment === treatment).map(({ name, scope, text }) => [name, scope, text]);
const text = [
  'Keys with the same effect:',
  table(['key', 'environments', 'here'], rowsOf('mapped')),
  'Keys about the modules:',
  table(['key', 'environments', 'here'], rowsOf('build')),
  'Services that do not exist here. A line at the start names each, and its use in a function throws:',
  table(['key', 'environments', 'do this'], rowsOf('unavailable')),
  'Keys that only matter for a deployment to the hosted platform. One line at the start lists them:',
  table(['key', 'environments', 'here'], rowsOf('ignored')),
].join('\n\n');
writeSection('wrangler', ['docs/from-workers.md'], text, '.scripts/wrangler-table.mjs');
