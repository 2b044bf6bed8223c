// What the scripts that write tables into the documentation have in common.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** A table as text, aligned as the formatter does it. */
export function table(columns, lines) {
  const widths = columns.map((name, i) => Math.max(name.length, ...lines.map(cells => cells[i].length)));
  const write = cells => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [write(columns), write(widths.map(width => '-'.repeat(width))), ...lines.map(write)].join('\n');
}

/**
 * Replaces what stands between `<!-- marker -->` and `<!-- /marker -->` in each of the files. With --check among the arguments of the
 * script it writes nothing and the script fails when a file differs.
 */
export function writeSection(marker, names, text, script) {
  const isCheck = process.argv.includes('--check');
  const section = new RegExp(`<!-- ${marker} -->[\\s\\S]*?<!-- /${marker} -->`);
  for (const name of names) {
    const file = new URL(`../${name}`, import.meta.url);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (!section.test(before)) {
      console.error(`${name} has no section between <!-- ${marker} --> and <!-- /${marker} -->`);
      process.exitCode = 1;
      continue;
    }
    // A function, for `$` in the text means nothing.
    const after = before.replace(section, () => `<!-- ${marker} -->\n\n${text}\n\n<!-- /${marker} -->`);
    if (after === before) continue;
    if (isCheck) {
      console.error(`${name} differs from its table: run node ${script}`);
      process.exitCode = 1;
    } else {
      writeFileSync(file, after);
      console.log(`${name} written`);
    }
  }
}
