/** Names under which a function finds its bindings (specification: Bucket binding). */

import { type Schema, text } from './schema/schema.js';

/** Whether a name can stand as a variable in JavaScript modules: an identifier that is not a reserved word. */
export function isBindingName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && IDENTIFIER.test(name) && !RESERVED.has(name);
}

const MAX_NAME_LENGTH = 256;

/** ECMAScript, IdentifierName, without escapes. */
const PATTERN = '^[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]*$';
const IDENTIFIER = new RegExp(PATTERN, 'u');

/**
 * ECMAScript's ReservedWord, including strict code and modules; `arguments` and `eval`, which strict code cannot bind; `undefined`, `NaN` and `Infinity`, which
 * cannot be declared; and `__proto__`, which sets the prototype of many an object.
 */
const RESERVED: ReadonlySet<string> = new Set(
  (
    'await break case catch class const continue debugger default delete do else enum export extends false finally for ' +
    'function if import in instanceof new null return super switch this throw true try typeof var void while with yield ' +
    'let static implements interface package private protected public arguments eval undefined NaN Infinity __proto__'
  ).split(' '),
);

/** The same as a schema. It counts code points where `isBindingName` counts UTF-16 code units, so names are checked by that one as well. */
export const BINDING_NAME: Schema<string> = text({
  pattern: PATTERN,
  maxLength: MAX_NAME_LENGTH,
  not: { enum: [...RESERVED] },
  description: 'a JavaScript identifier that is not a reserved word',
});
