/** The schemas of a function's configuration: its bindings, and the metadata of uploads. */

import type { NamedBinding } from '../bindings/binding.js';
import { REGISTRY } from '../bindings/registry.js';
import { managedBindings } from '../config-schema/binding-shapes.js';
import { EGRESS_HOSTS } from '../config-schema/egress-shapes.js';
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  SECRET,
  TAIL_CONSUMERS,
  USAGE_MODEL,
  VARIABLE,
} from '../config-schema/function-shapes.js';
import { BINDING_NAME } from '../quotas/binding-name.js';
import { finiteLimitNumber } from '../quotas/limit-schema.js';
import { constant, list, object, type Schema, text } from '../quotas/schema/schema.js';
import { body, message, ref, string, type ValueOf } from './schemas.js';

export type VariableBinding =
  | { readonly type: 'plain_text'; readonly name: string; readonly text: string }
  | { readonly type: 'json'; readonly name: string; readonly json: unknown };

/** In requests with its text, in answers without. */
export interface SecretBinding {
  readonly type: 'secret_text';
  readonly name: string;
  readonly text?: string;
}

/** A binding to a service of the host, of the type and with the key that its row of the registry has. */
export interface ServiceBinding {
  readonly type: string;
  readonly name: string;
  readonly [key: string]: unknown;
}

export type Binding = VariableBinding | SecretBinding | ServiceBinding;

export function isVariable(binding: Binding): binding is VariableBinding {
  return binding.type === 'plain_text' || binding.type === 'json';
}

export function isSecret(binding: Binding): binding is SecretBinding {
  return binding.type === 'secret_text';
}

/** A binding as answers have it. */
export const shownBinding: Schema<Binding> = { type: 'object', required: ['type', 'name'] };

const bindingInput = (rows: readonly NamedBinding[]): Schema<Binding> => ({
  type: 'object',
  required: ['type'],
  discriminator: { propertyName: 'type' },
  oneOf: [
    object({ type: constant('plain_text'), name: BINDING_NAME, text: string }),
    object({ type: constant('json'), name: BINDING_NAME, json: VARIABLE }),
    ...managedBindings(rows),
    object({ type: constant('secret_text'), name: BINDING_NAME, 'text?': SECRET }),
  ],
});

/** The bindings of a host that has these rows. */
export function bindingsOf(rows: readonly NamedBinding[]): Schema<readonly Binding[]> {
  return list(bindingInput(rows), { maxItems: 1000 });
}

/** With the bindings of the package; see `schemasOf`. */
export const BINDINGS = body('Bindings', bindingsOf(REGISTRY.named), [
  { type: 'store_bucket', name: 'FILES', bucket_name: 'files' },
]);

const bindings: Schema<readonly Binding[]> = ref(BINDINGS);
export const configuration = {
  'compatibility_date?': COMPATIBILITY_DATE,
  'compatibility_flags?': COMPATIBILITY_FLAGS,
  'bindings?': bindings,
  'limits?': object({ 'cpu_ms?': finiteLimitNumber('cpuMs') }),
  'usage_model?': USAGE_MODEL,
  'tail_consumers?': TAIL_CONSUMERS,
  // Without secrets: the owner of the host gives those to an account.
  'egress?': object({ hosts: EGRESS_HOSTS }),
};

const moduleName = (of: string) =>
  text({
    pattern: '^[^\\u0000-\\u001f\\u007f]+$',
    minLength: 1,
    maxLength: 255,
    description: `the name of the part that has ${of}: 1 to 255 printable characters`,
  });

export const FUNCTION_METADATA = body(
  'FunctionMetadata',
  object(
    {
      'main_module?': moduleName('the main ES module'),
      'body_part?': moduleName('a classic script'),
      'message?': message,
      ...configuration,
    },
    { oneOf: [{ required: ['main_module'] }, { required: ['body_part'] }] },
  ),
  { main_module: 'index.js', bindings: [{ type: 'plain_text', name: 'GREETING', text: 'hi' }] },
);

export type FunctionMetadata = ValueOf<typeof FUNCTION_METADATA>;
