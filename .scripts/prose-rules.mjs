/** The rules for sentences in documents, comments and messages, with the idioms that this project once used and the usual words for them. */

const FIRST_WORDS = /^(?:Of|Those of|That of|These of|What|Who|Whoever|Whose)\b(?!.*\?$)/;

export const IDIOMS = [
  [
    /\b(?:what|who(?:ever)?) (?:is|are|was|has|had|waits|comes|came|calls|asks|stands|runs|goes|needs|holds)\b/i,
    'name the thing or the person',
  ],
  [/\b(?:that|those) of\b/i, 'repeat the noun'],
  [/\b(?:there )?(?:is|are) none\b/i, 'say what is missing'],
  [/\b(?:is|are|was|were|be|been) told\b/i, 'is notified, or reads'],
  [/\bgoe?s? on\b/i, 'continues'],
  [/\bgiv(?:es?|en|ing) back\b/i, 'returns, releases'],
  [/\b(?:was|is|been|be) taken over\b/i, 'compromised'],
  [/\bhas to\b/i, 'must'],
  [/\bunder way\b/i, 'in flight, open'],
  [/\blater and later\b/i, 'with back-off'],
  [/\bmade again\b/i, 'retried'],
  [/\banew\b/i, 'again'],
  [/\bfor ever\b/i, 'indefinitely'],
  [/\bso (?:long as|long|many)\b/i, 'while, this long, this many'],
  [/\bdear(?:er|est)?\b/i, 'expensive'],
  [/\btill\b/i, 'until'],
  [/\band its like\b/i, 'name an example'],
];

/** A colon and a semicolon end a sentence, too. Code is one word, and quoted words are examples. */
function sentencesOf(text) {
  return text
    .replace(/^(?:[-*]|\d+\.) /, '')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/`[^`]*`/g, 'CODE')
    .replace(/"[^"]*"/g, 'QUOTE')
    .replace(/\*\*/g, '')
    .split(/(?<=[.!?]\)?)\s+(?=[[('A-Z])|[:;]\s+(?=[[(A-Za-z])/);
}

/** The findings in one passage. */
export function* findingsOf(text, maxWords) {
  for (const sentence of sentencesOf(text)) {
    const words = sentence.split(/\s+/).filter(word => /\w/.test(word)).length;
    const start = sentence.slice(0, 60);
    if (words > maxWords) yield `${words} words, at most ${maxWords} are allowed: ${start}`;
    if (FIRST_WORDS.test(sentence)) yield `begin with the subject: ${start}`;
    for (const [idiom, instead] of IDIOMS) {
      const found = idiom.exec(sentence)?.[0];
      if (found !== undefined) yield `"${found}", better: ${instead}: ${start}`;
    }
  }
}
