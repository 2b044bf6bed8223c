/** Names under which a function finds its bindings (specification: Bucket binding). */

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/** Words that an identifier may not be in strict code (ECMAScript, 12.7.2 Keywords and Reserved Words). */
const RESERVED = new Set(
  `await break case catch class const continue debugger default delete do else enum export extends false finally for function if
  implements import in instanceof interface let new null package private protected public return static super switch this throw true try
  typeof var void while with yield eval arguments undefined NaN Infinity`.split(/\s+/),
);

/** Whether `name` is a valid JavaScript variable identifier. */
export function isBindingName(name: string): boolean {
  return IDENTIFIER.test(name) && !RESERVED.has(name);
}
