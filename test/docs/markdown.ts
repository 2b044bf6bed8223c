/** The documentation as tests see it: its files, their blocks of code, and the hidden comments that make programs of them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Of the repository; tests run in dist/test. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The line of a fixture that stands for the program which the page shows. */
const PAGE = '// The program of the page.\n';

export interface Block {
  /** `README.md:12` */
  readonly place: string;
  readonly language: string;
  readonly code: string;
  /** From `<!-- before ... -->` in front of the block, or from the file that `<!-- test: name -->` names there. */
  readonly before: string;
  /** From `<!-- after ... -->` behind it, or from the same file. */
  readonly after: string;
}

export function documents(): string[] {
  const own = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'].filter(name => existsSync(ROOT + name));
  const docs = readdirSync(`${ROOT}docs`).filter(name => name.endsWith('.md'));
  return [...own, ...docs.map(name => `docs/${name}`)];
}

export function textOf(document: string): string {
  return readFileSync(ROOT + document, 'utf8');
}

/** @throws Error when there is no such line behind the one that begins the block or the comment */
function endOf(document: string, lines: readonly string[], end: string, start: number): number {
  const at = lines.indexOf(end, start);
  if (at < 0) throw new Error(`${document}:${start + 1}: no line ${JSON.stringify(end)} ends this`);
  return at;
}

/** Fenced blocks, with the hidden comments next to them. */
export function blocksOf(document: string): Block[] {
  const lines = textOf(document).split('\n');
  const blocks: Block[] = [];
  let before = '';
  let behind = '';
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line === '') continue;
    const fence = /^```(\w+)$/.exec(line);
    const fixture = /^<!-- test: ([\w-]+) -->$/.exec(line)?.[1];
    if (line === '<!-- before') {
      const end = endOf(document, lines, '-->', at);
      before = lines.slice(at + 1, end).join('\n');
      at = end;
    } else if (fixture !== undefined) {
      [before = '', behind = ''] = readFileSync(`${ROOT}test/docs/fixtures/${fixture}.txt`, 'utf8').split(PAGE);
    } else if (fence !== null) {
      const end = endOf(document, lines, '```', at);
      const code = `${lines.slice(at + 1, end).join('\n')}\n`;
      const next = lines.findIndex((text, index) => index > end && text !== '');
      const isFollowed = lines[next] === '<!-- after';
      const after = isFollowed ? lines.slice(next + 1, endOf(document, lines, '-->', next)).join('\n') : behind;
      blocks.push({ place: `${document}:${at + 1}`, language: fence[1] ?? '', code, before, after });
      before = '';
      behind = '';
      at = end;
    } else {
      before = '';
      behind = '';
    }
  }
  return blocks;
}
