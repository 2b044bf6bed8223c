import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'ava';
import { documents, ROOT, textOf } from './markdown.js';

for (const document of documents()) {
  test(`the links of ${document} lead somewhere`, t => {
    t.plan(linksOf(document).length + 1);
    t.pass();
    for (const link of linksOf(document)) {
      const [path = '', anchor] = link.split('#', 2);
      const file = path === '' ? document : join(dirname(document), path);
      const isThere = existsSync(join(ROOT, file));
      t.true(isThere && (anchor === undefined || anchorsOf(file).includes(anchor)), link);
    }
  });
}

/** Without code, and without addresses of the web. */
function linksOf(document: string): string[] {
  const prose = textOf(document)
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(match => match[1] ?? '').filter(link => !/^https?:/.test(link));
}

/** Headings, as their pages name them. */
function anchorsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(/^#+ (.*)$/gm)].map(match =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
