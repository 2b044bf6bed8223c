/** The rules of one version of a function: of its account and its own, in a form that crosses to the backend process, with the placeholders of the secrets. */
import type { EgressSecretPlace } from './egress-rules.js';
import type { HostEntry } from './host-entry.js';

export interface CompiledRules {
  /** All of them must allow a request. */
  readonly lists: readonly OwnedHosts[];
  readonly secrets: readonly CompiledSecret[];
}

export interface OwnedHosts {
  /** The option in messages: `egress.hosts of account "acme"`. */
  readonly option: string;
  readonly hosts: readonly HostEntry[];
  /** Why nothing is allowed, and what would allow it, in place of the entries of the option. @default the entries */
  readonly closed?: { readonly why: string; readonly remedy: string };
}

export interface CompiledSecret {
  readonly name: string;
  /** The option of its hosts in messages: `egress.secrets.GH of account "acme"`. */
  readonly option: string;
  /** The text in `env`. */
  readonly placeholder: string;
  readonly value: string;
  readonly hosts: readonly HostEntry[];
  readonly places: readonly EgressSecretPlace[];
  readonly allowHttp: boolean;
}
