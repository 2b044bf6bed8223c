/** Code that calls its tools by their names alone: `external_find(input)`. */

/** Lines stay, and the columns of all lines but the first. */
export function asVariables(names: readonly string[], code: string): string {
  return names.length === 0 ? code : `const { ${names.join(', ')} } = tools;${code}`;
}
