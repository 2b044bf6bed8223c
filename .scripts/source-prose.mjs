/** Finds the prose in a source file: its comments, and the texts that a user may read. */
import { SyntaxKind } from 'typescript/unstable/ast';
import { createScanner } from 'typescript/unstable/ast/scanner';

/** Comments for tools. */
const FOR_TOOLS = /^(?:\/\/\/|\/[/*]+\s*(?:biome-ignore|c8 |@ts-|@__|esbuild))/;
/** The calls and constructors whose texts are messages. */
const TELLERS = /(?:[eE]rror|Exception|^(?:fail|refuse|print|usage|warn))$/;
/** A `/` after one of these begins a division. */
const OPERANDS = new Set([
  ...[SyntaxKind.Identifier, SyntaxKind.NumericLiteral, SyntaxKind.BigIntLiteral, SyntaxKind.StringLiteral],
  ...[SyntaxKind.NoSubstitutionTemplateLiteral, SyntaxKind.TemplateTail, SyntaxKind.RegularExpressionLiteral],
  ...[SyntaxKind.CloseParenToken, SyntaxKind.CloseBracketToken, SyntaxKind.CloseBraceToken],
  ...[SyntaxKind.ThisKeyword, SyntaxKind.PlusPlusToken, SyntaxKind.MinusMinusToken],
]);
const OPENING = new Set([SyntaxKind.OpenParenToken, SyntaxKind.OpenBraceToken, SyntaxKind.TemplateHead]);
const CLOSING = new Set([SyntaxKind.CloseParenToken, SyntaxKind.CloseBraceToken, SyntaxKind.TemplateTail]);
const SPACE = new Set([SyntaxKind.WhitespaceTrivia, SyntaxKind.NewLineTrivia]);
const COMMENT = new Set([SyntaxKind.SingleLineCommentTrivia, SyntaxKind.MultiLineCommentTrivia]);

/** Every token but space, with its kind, start and end. */
function* tokensOf(text) {
  const scanner = createScanner(false, undefined, text);
  const braces = [];
  let last = SyntaxKind.Unknown;
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    if (SPACE.has(kind)) continue;
    if (kind === SyntaxKind.CloseBraceToken && braces.pop() === SyntaxKind.TemplateHead) {
      kind = scanner.reScanTemplateToken(false);
      if (kind === SyntaxKind.TemplateMiddle) braces.push(SyntaxKind.TemplateHead);
    } else if (kind === SyntaxKind.OpenBraceToken || kind === SyntaxKind.TemplateHead) braces.push(kind);
    else if ((kind === SyntaxKind.SlashToken || kind === SyntaxKind.SlashEqualsToken) && !OPERANDS.has(last))
      kind = scanner.reScanSlashToken();
    yield { kind, start: scanner.getTokenStart(), end: scanner.getTokenEnd(), value: scanner.getTokenValue() };
    if (!COMMENT.has(kind)) last = kind;
  }
}

/** The comments, each with its start and end in the text. Line comments below each other are one. */
export function commentsOf(text) {
  const comments = [];
  for (const { kind, start, end } of tokensOf(text)) {
    if (!COMMENT.has(kind) || FOR_TOOLS.test(text.slice(start, end))) continue;
    const last = comments.at(-1);
    const isLine = kind === SyntaxKind.SingleLineCommentTrivia;
    const isOwnLine = text.slice(text.lastIndexOf('\n', start) + 1, start).trim() === '';
    if (isLine && isOwnLine && last?.isJoinable && /^\n[ \t]*$/.test(text.slice(last.end, start))) last.end = end;
    else comments.push({ start, end, isJoinable: isLine && isOwnLine });
  }
  return comments;
}

/** The paragraphs of a comment, each with the number of lines above it. */
export function* paragraphsOf(comment) {
  let open;
  let isCode = false;
  for (const [index, line] of comment.split('\n').entries()) {
    const bare = line.replace(/^\s*(?:\/\*+|\*+(?!\/)|\/\/)? ?|\s*\*+\/\s*$/g, '');
    const isFence = bare.startsWith('```');
    if (isFence) isCode = !isCode;
    const isBlank = isFence || isCode || bare.trim() === '' || /^ {4}/.test(bare);
    if (open !== undefined && (isBlank || /^\s*(?:[-*] |\d+\. |@\w)/.test(bare))) {
      yield open;
      open = undefined;
    }
    if (!isBlank) open = { index: open?.index ?? index, text: `${open?.text ?? ''} ${bare.trim()}`.trim() };
  }
  if (open !== undefined) yield open;
}

/** The names of files that a comment mentions, without the dots of relative paths. */
export function fileNamesIn(comment) {
  const mentions = comment.matchAll(
    /(?<![\w/.:-])(?:\.\.?\/)*((?:[.\w-]+\/)*[\w-]+(?:\.\w+)*\.(?:ts|mjs|md))\b(?!\.\w)/g,
  );
  return [...mentions].map(([, name]) => name);
}

/** The texts of two words or more that are given to errors and to the functions that print, each with its start. A value in a template is one word. */
export function messagesOf(text) {
  const messages = [];
  /** For each open bracket, whether it belongs to a call that takes a message. */
  const open = [];
  const templates = [];
  let callee = '';
  for (const { kind, start, value } of tokensOf(text)) {
    if (COMMENT.has(kind)) continue;
    const isMessage = open.at(-1) ?? false;
    if (kind === SyntaxKind.TemplateHead) templates.push({ start, text: value, isMessage });
    else if (kind === SyntaxKind.TemplateMiddle) templates.at(-1).text += `CODE${value}`;
    else if (kind === SyntaxKind.TemplateTail) {
      const template = templates.pop();
      if (template.isMessage) messages.push({ start: template.start, text: `${template.text}CODE${value}` });
    } else if (isMessage && (kind === SyntaxKind.StringLiteral || kind === SyntaxKind.NoSubstitutionTemplateLiteral))
      messages.push({ start, text: value });
    if (OPENING.has(kind)) open.push(isMessage || (kind === SyntaxKind.OpenParenToken && TELLERS.test(callee)));
    else if (CLOSING.has(kind)) open.pop();
    callee = kind === SyntaxKind.Identifier ? value : '';
  }
  return messages.filter(message => /\w \w/.test(message.text));
}
