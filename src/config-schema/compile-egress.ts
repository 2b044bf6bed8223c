/** Compiles the option `egress` of an account and a function into the rules that requests are checked by. */
import { randomBytes } from 'node:crypto';
import type { CompiledRules, CompiledSecret } from '../bindings/egress/rules/compiled-rules.js';
import type { EgressRules } from '../bindings/egress/rules/egress-rules.js';
import { PLACEHOLDER_BYTES, PLACEHOLDER_START } from '../bindings/egress/rules/placeholders.js';
import { hostEntry } from './egress-hosts.js';

/** Rules that the schema has checked, and the owner in messages: `account "acme"`. */
export interface OwnedRules {
  readonly rules: EgressRules | undefined;
  readonly owner: string;
}

/** The same rules, where a further list must allow a request. */
export function narrowed(
  rules: CompiledRules,
  { rules: { hosts }, owner }: { readonly rules: Pick<EgressRules, 'hosts'>; readonly owner: string },
): CompiledRules {
  const list = { option: `egress.hosts of ${owner}`, hosts: hosts.map(hostEntry) };
  return { ...rules, lists: [...rules.lists, list] };
}

/**
 * The rules of an account and of its function, together. Undefined when neither has any: then nothing is asked about a request.
 *
 * @param taken names in the environment of the function, which win over secrets of its account
 */
export function compileRules(
  account: OwnedRules,
  own: OwnedRules & { readonly rules: EgressRules },
  taken: ReadonlySet<string>,
): CompiledRules;
export function compileRules(
  account: OwnedRules,
  own: OwnedRules,
  taken: ReadonlySet<string>,
): CompiledRules | undefined;
export function compileRules(
  account: OwnedRules,
  own: OwnedRules,
  taken: ReadonlySet<string>,
): CompiledRules | undefined {
  if (account.rules === undefined && own.rules === undefined) return undefined;
  const ownNames = new Set([...taken, ...Object.keys(own.rules?.secrets ?? {})]);
  return {
    lists: [account, own].flatMap(({ rules, owner }) =>
      rules === undefined ? [] : [{ option: `egress.hosts of ${owner}`, hosts: rules.hosts.map(hostEntry) }],
    ),
    secrets: [...compiledSecrets(account).filter(({ name }) => !ownNames.has(name)), ...compiledSecrets(own)],
  };
}

/** The part of the environment that the function gets: placeholders by name. */
export function placeholdersOf(rules: CompiledRules | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((rules?.secrets ?? []).map(({ name, placeholder }) => [name, placeholder]));
}

/** The secrets of a function's own rules, which count as its variables. */
export function egressVariables(rules: EgressRules | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(rules?.secrets ?? {}).map(name => [name, PLACEHOLDER_START]));
}

function compiledSecrets({ rules, owner }: OwnedRules): CompiledSecret[] {
  return Object.entries(rules?.secrets ?? {}).map(([name, secret]) => ({
    name,
    option: `egress.secrets.${name} of ${owner}`,
    placeholder: `${PLACEHOLDER_START}${randomBytes(PLACEHOLDER_BYTES).toString('hex')}`,
    value: secret.value,
    hosts: secret.hosts.map(hostEntry),
    places: [...(secret.in ?? ['header'])],
    allowHttp: secret.allowHttp ?? false,
  }));
}
