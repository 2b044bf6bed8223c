// Checks the prose of the documents below: sentences that a stranger has to read twice, and lines that are too long for a diff. A document joins the
// list when it passes. With arguments, the files to check in place of the list. Prints one line for each finding, and exits with 1 if there is any.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const DOCUMENTS = [
  ...['README', 'CHANGELOG', 'CONTRIBUTING'],
  ...[
    'architecture',
    'benchmarks',
    'buckets',
    'cache',
    'cli',
    'comparison',
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
].map(name => fileURLToPath(new URL(`../${name}.md`, import.meta.url)));

const MAX_WORDS = 25;
const MAX_LINE = 120;
const FIRST_WORDS = /^(?:Of|Those of|That of|These of|What|Who|Whoever)\b(?!.*\?$)/;

/** Idioms of this project, and the usual words. */
const IDIOMS = [
  [
    /\b(?:what|who(?:ever)?) (?:is|are|was|has|had|waits|comes|came|calls|asks|stands|runs|goes|needs|holds)\b/i,
    'name the thing or the person',
  ],
  [/\b(?:that|those) of\b/i, 'repeat the noun'],
  [/\b(?:there )?(?:is|are) none\b/i, 'say what is missing'],
  [/\b(?:is|are|was|were) told\b/i, 'is notified, or reads'],
  [/\bgoe?s? on\b/i, 'continues'],
  [/\bgiv(?:es?|en|ing) back\b/i, 'returns, releases'],
  [/\b(?:was|is|been|be) taken over\b/i, 'compromised'],
  [/\bhas to\b/i, 'must'],
  [/\bunder way\b/i, 'in flight, open'],
  [/\blater and later\b/i, 'with back-off'],
  [/\bmade again\b/i, 'retried'],
  [/\banew\b/i, 'again'],
  [/\bfor ever\b/i, 'indefinitely'],
  [/\bso long as\b/i, 'while'],
  [/\bdear\b/i, 'expensive'],
  [/\btill\b/i, 'until'],
  [/\band its like\b/i, 'name an example'],
];

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
    if (line.length > MAX_LINE && !line.startsWith('|') && !isIndentedCode && closing === undefined)
      yield { number, tooLong: line.length };
  }
  if (open !== undefined) yield open;
}

/** A colon and a semicolon end a sentence, too. Code is one word, and quoted words are examples. */
function sentencesOf(text) {
  return text
    .replace(/^(?:[-*]|\d+\.) /, '')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/`[^`]*`/g, 'CODE')
    .replace(/"[^"]*"/g, 'QUOTE')
    .replace(/\*\*/g, '')
    .split(/(?<=[.!?]\)?)\s+(?=[[(A-Z])|[:;]\s+(?=[[(A-Za-z])/);
}

function* findingsOf(text) {
  for (const passage of passagesOf(text.split('\n'))) {
    const { number } = passage;
    if (passage.tooLong !== undefined) {
      yield [number, `the line has ${passage.tooLong} characters, at most ${MAX_LINE} are allowed`];
      continue;
    }
    for (const sentence of sentencesOf(passage.text)) {
      const words = sentence.split(/\s+/).filter(word => /\w/.test(word)).length;
      const start = sentence.slice(0, 60);
      if (words > MAX_WORDS) yield [number, `${words} words, at most ${MAX_WORDS} are allowed: ${start}`];
      if (FIRST_WORDS.test(sentence)) yield [number, `begin with the subject: ${start}`];
      for (const [idiom, instead] of IDIOMS) {
        const found = idiom.exec(sentence)?.[0];
        if (found !== undefined) yield [number, `"${found}", better: ${instead}: ${start}`];
      }
    }
  }
}

const named = process.argv.slice(2);
for (const file of named.length > 0 ? named : DOCUMENTS) {
  for (const [number, finding] of findingsOf(readFileSync(file, 'utf8'))) {
    console.error(`${file}:${number}: ${finding}`);
    process.exitCode = 1;
  }
}
