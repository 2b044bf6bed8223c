/** The import attribute `type`: what an import can ask for, and which modules of a deployment that fits. */
import type { ModuleKind } from '../../protocol/messages.js';

/** By type, the kind of the modules that can be imported as it. */
export const KIND_OF_TYPE = { json: 'json', text: 'text', bytes: 'data' } as const satisfies Record<string, ModuleKind>;
const ATTRIBUTE = 'type';
const TYPES = Object.keys(KIND_OF_TYPE)
  .map(type => `'${type}'`)
  .join(', ');

/** The import wants a Uint8Array, in place of the ArrayBuffer that a data module is without attributes. */
export function wantsBytes(attributes: Readonly<Record<string, unknown>>): boolean {
  return attributes[ATTRIBUTE] === 'bytes';
}

/**
 * The rest of a sentence that begins with the import; undefined when the module can be imported so.
 *
 * @param kind of the module; undefined when it is one of the built-in modules
 */
export function attributeMistake(
  attributes: Readonly<Record<string, unknown>>,
  kind: ModuleKind | undefined,
): string | undefined {
  for (const [key, value] of Object.entries(attributes)) {
    if (key !== ATTRIBUTE) return `with the attribute "${key}", but there is only "${ATTRIBUTE}": ${TYPES}`;
    const wanted = Object.entries(KIND_OF_TYPE).find(([type]) => type === value)?.[1];
    if (wanted === undefined) return `with type '${String(value)}', which is none of ${TYPES}`;
    if (wanted !== kind) return `with type '${String(value)}', but it is ${described(kind)}`;
  }
  return undefined;
}

function described(kind: ModuleKind | undefined): string {
  const fitting = Object.entries(KIND_OF_TYPE).find(([, fits]) => fits === kind)?.[0];
  if (fitting === undefined) return `${kind === undefined ? 'built in' : 'JavaScript'}: leave the type out`;
  return `a module of kind "${kind}", whose type is '${fitting}'`;
}
