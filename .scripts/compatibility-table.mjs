// Writes the tables of compatibility flags between <!-- compatibility --> and <!-- /compatibility --> in
// docs/compatibility.md, from the table in dist/src/bindings/compatibility-flags.js. With --check it changes nothing and
// fails when the file differs.
import { ALWAYS_ON } from '../dist/src/bindings/always-on-flags.js';
import { NEVER_ON, SWITCHES } from '../dist/src/bindings/compatibility-flags.js';
import { table, writeSection } from './markdown-table.mjs';

const code = name => (name === undefined ? '' : `\`${name}\``);
const dateOf = ({ from, fromThere }) => from ?? (fromThere === undefined ? 'no date' : `${fromThere}, see below`);
const nameOf = ({ flag, alias }) => (alias === undefined ? code(flag) : `${code(flag)}, ${code(alias)}`);
const text = [
  'Flags that change something:',
  table(
    ['flag', 'holds from', 'switched off by', 'effect'],
    SWITCHES.map(row => [nameOf(row), dateOf(row), code(row.off), `${row.effect}.`]),
  ),
  'Flags that hold for every function, whatever its date is. To name one changes nothing:',
  ALWAYS_ON.map(flag => `- ${code(flag)}`).join('\n'),
  'Flags that are refused, since functions never behave so:',
  table(
    ['flag', 'here'],
    Object.entries(NEVER_ON).map(([flag, text]) => [code(flag), `${text[0].toUpperCase()}${text.slice(1)}.`]),
  ),
].join('\n\n');
writeSection('compatibility', ['docs/compatibility.md'], text, '.scripts/compatibility-table.mjs');
