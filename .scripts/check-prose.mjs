// Checks the prose of the documents below and of all of src: sentences that a stranger has to read twice, and lines that are too long for a diff. A new
// document joins the list. With arguments, the files to check instead.
// Prints one line for each finding, and exits with 1 if there is any.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { findingsOf } from './prose-rules.mjs';
import { commentsOf, fileNamesIn, messagesOf, paragraphsOf } from './source-prose.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const DOCUMENTS = [
  ...['README', 'CHANGELOG', 'CONTRIBUTING'],
  ...[
    'architecture',
    'benchmarks',
    'buckets',
    'cache',
    'cli',
    'comparison',
    'compatibility',
    'conformance',
    'cookbook',
    'cron',
    'debugging',
    'deploying',
    'egress',
    'errors',
    'frameworks',
    'from-workers',
    'functions',
    'glossary',
    'kv',
    'limits',
    'management',
    'node',
    'object-storage',
    'objects',
    'observability',
    'queues',
    's3',
    'security',
    'service-bindings',
    'sockets',
    'sql',
    'tails',
    'tenants',
    'usage',
    'websockets',
  ].map(name => `docs/${name}`),
].map(name => join(ROOT, `${name}.md`));

const DOCUMENT_BOUNDS = { words: 25, line: 120 };
const COMMENT_BOUNDS = { words: 30, line: 160 };

/** Paragraphs, items and cells, each with the number of its first line. Code, headings, comments and the lines of long tables are left out. */
function* passagesOf(lines) {
  let open;
  let closing;
  for (const [index, line] of lines.entries()) {
    const number = index + 1;
    if (closing !== undefined) {
      if (line === closing) closing = undefined;
      continue;
    }
    const isIndentedCode = open === undefined && /^ {4}\S/.test(line);
    const isBlank = /^\s*(?:$|#|\||```|<!--)/.test(line) || isIndentedCode;
    if (open !== undefined && (isBlank || /^\s*(?:[-*]|\d+\.) /.test(line))) {
      yield open;
      open = undefined;
    }
    if (line.startsWith('```')) closing = '```';
    else if (line === '<!-- figures -->') closing = '<!-- /figures -->';
    else if (/^<!-- (?:before|after)$/.test(line)) closing = '-->';
    else if (line.startsWith('|')) for (const text of line.split(/(?<!\\)\|/)) yield { number, text: text.trim() };
    else if (!isBlank) open = { number: open?.number ?? number, text: `${open?.text ?? ''} ${line}`.trim() };
    if (line.length > DOCUMENT_BOUNDS.line && !line.startsWith('|') && !isIndentedCode && closing === undefined)
      yield { number, tooLong: line.length };
  }
  if (open !== undefined) yield open;
}

function* documentFindings(text) {
  for (const { number, text: passage, tooLong } of passagesOf(text.split('\n'))) {
    if (tooLong !== undefined) yield [number, tooLongText(tooLong, DOCUMENT_BOUNDS)];
    else for (const finding of findingsOf(passage, DOCUMENT_BOUNDS.words)) yield [number, finding];
  }
}

const tooLongText = (length, { line }) => `the line has ${length} characters, at most ${line} are allowed`;

/** The files of the repository by their names, for comments that mention one. */
let fileNames;

function filesNamed(name) {
  if (fileNames === undefined) {
    const folders = ['src', 'test', 'docs', 'benchmarks', 'examples', '.scripts'].map(folder => join(ROOT, folder));
    fileNames = [...folders.flatMap(filesIn), ...readdirSync(ROOT).map(file => join(ROOT, file))];
  }
  return fileNames.filter(file => file.endsWith(`/${name}`));
}

/** A file that a comment names must exist, and be the only one of its name or stand beside the comment. */
function fileNameFinding(name, file) {
  const files = filesNamed(name);
  if (files.length === 0) return `no file is named ${name}`;
  const isClear = files.length === 1 || name.includes('/') || files.some(other => dirname(other) === dirname(file));
  return isClear ? undefined : `${files.length} files are named ${name}: add the folder`;
}

function* sourceFindings(text, file) {
  const lineAt = position => text.slice(0, position).split('\n').length;
  for (const { start, end } of commentsOf(text)) {
    const comment = text.slice(start, end);
    const number = lineAt(start);
    for (const { index, text: paragraph } of paragraphsOf(comment)) {
      for (const finding of findingsOf(paragraph, COMMENT_BOUNDS.words)) yield [number + index, finding];
    }
    for (const name of fileNamesIn(comment)) {
      const finding = fileNameFinding(name, file);
      if (finding !== undefined) yield [number, finding];
    }
    const first = text.lastIndexOf('\n', start) + 1;
    for (const [index, line] of text.slice(first, end).split('\n').entries()) {
      if (line.length > COMMENT_BOUNDS.line && !line.includes('://'))
        yield [number + index, tooLongText(line.length, COMMENT_BOUNDS)];
    }
  }
  for (const { start, text: message } of messagesOf(text)) {
    for (const finding of findingsOf(message, COMMENT_BOUNDS.words)) yield [lineAt(start), finding];
  }
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath ?? entry.path, entry.name));
}

const isSource = file => file.endsWith('.ts');
const named = process.argv.slice(2).map(file => resolve(file));
const listed = [...DOCUMENTS, ...filesIn(join(ROOT, 'src')).filter(isSource)];
for (const file of named.length > 0 ? named : listed) {
  const text = readFileSync(file, 'utf8');
  for (const [number, finding] of isSource(file) ? sourceFindings(text, file) : documentFindings(text)) {
    const path = relative(ROOT, file).startsWith('..') ? file : relative(ROOT, file);
    console.error(`${path}:${number}: ${finding}`);
    process.exitCode = 1;
  }
}
