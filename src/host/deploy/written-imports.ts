import { type Expression, type ImportAttribute, parse } from 'acorn';
import { simple } from 'acorn-walk';

/**
 * Text above this is taken for a bundle, which imports nothing that is not in it: a syntax tree takes a hundred times the memory of its text, and
 * this is the host's own.
 */
const MAX_PARSED_LENGTH = 1024 * 1024;

/** An import, or export from, whose specifier is written as text. */
export interface WrittenImport {
  readonly specifier: string;
  /** Where the specifier begins in the text. */
  readonly start: number;
  /** Its attribute `type`, of declarations only. */
  readonly type?: string;
}

interface Import {
  readonly source?: Expression | null | undefined;
  readonly attributes?: readonly ImportAttribute[];
}

/**
 * The imports of an ES module. Text that does not parse has none: load() reports its error.
 *
 * @param mayImport a pattern that finds every text with an import of interest, since most text need not be parsed then
 */
export function writtenImports(text: string, mayImport: RegExp): readonly WrittenImport[] {
  const imports: WrittenImport[] = [];
  if (text.length > MAX_PARSED_LENGTH || !mayImport.test(text)) return imports;
  const visit = ({ source, attributes }: Import): void => {
    if (source?.type !== 'Literal' || typeof source.value !== 'string') return;
    const type = attributes?.find(({ key }) => (key.type === 'Identifier' ? key.name : key.value) === 'type')?.value
      .value;
    imports.push({ specifier: source.value, start: source.start, ...(typeof type === 'string' && { type }) });
  };
  try {
    simple(parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true }), {
      ImportDeclaration: visit,
      ExportNamedDeclaration: visit,
      ExportAllDeclaration: visit,
      ImportExpression: visit,
    });
  } catch {
    return [];
  }
  return imports;
}
