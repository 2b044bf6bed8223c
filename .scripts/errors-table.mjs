// Writes the table of error codes between <!-- errors --> and <!-- /errors --> in docs/errors.md, from the one table in
// dist/src/quotas/errors.js. With --check it changes nothing and fails when the file differs.
import { EDGE_ERRORS } from '../dist/src/quotas/errors.js';
import { table, writeSection } from './markdown-table.mjs';

const sentence = text => `${text[0].toUpperCase()}${text.slice(1)}`;
const rows = Object.entries(EDGE_ERRORS).map(([code, { status, text, remedy }]) => [
  `\`${code}\``,
  String(status),
  sentence(text),
  remedy,
]);
writeSection(
  'errors',
  ['docs/errors.md'],
  table(['code', 'status', 'cause', 'remedy'], rows),
  '.scripts/errors-table.mjs',
);
