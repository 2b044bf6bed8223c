/** The option `egress` of accounts and functions: the hosts that a function may reach, and secrets that stay outside of it. */

/** One entry of `hosts`, with what it is narrowed to. */
export interface EgressHost {
  /**
   * A name such as `api.example.com`; `*.example.com` for all names below it; an IP address; `*` for every host. A port may follow: `db.example.com:5432`.
   * Upper case, a final dot and Unicode mean the same name as the form in URLs.
   */
  readonly host: string;
  /** The ports that may be connected to: 1 to 65,535. @default all */
  readonly ports?: readonly number[];
  /**
   * The paths that may be fetched, exactly, or with all below where one ends in `*`: `/v1/*`. The query is not part of them. An entry with paths opens no TCP
   * sockets, and refuses paths that servers read in several ways (`%2f`, `..;`). @default all
   */
  readonly paths?: readonly string[];
  /** The methods that may be used. An entry with methods opens no TCP sockets, and refuses headers that override the method. @default all */
  readonly methods?: readonly string[];
}

/** A secret that the host puts into requests in the place of its placeholder. */
export interface EgressSecret {
  /** The hosts whose requests get the value, as in `hosts`; `*` is refused. */
  readonly hosts: readonly string[];
  /** 1 to 8,192 printable ASCII characters. No function, answer header, error, log or event has it. */
  readonly value: string;
  /** The parts of a request in which the placeholder is replaced. In another part the request is refused. @default ['header'] */
  readonly in?: readonly EgressSecretPlace[];
  /** Sends the value over `http:` as well. @default false */
  readonly allowHttp?: boolean;
}

export type EgressSecretPlace = 'header' | 'url';

/**
 * Where functions may send requests and open connections, by name, and the secrets of these hosts. It narrows the address policy of the host, which stays:
 * both must allow a request. An account's option and a function's are both asked, too, so that a function cannot widen the list of its account.
 */
export interface EgressRules {
  /**
   * The hosts that `fetch()`, `connect()` and WebSockets may reach; every redirect is checked again. Anything else is EDGE_EGRESS_DENIED and an
   * `egress` event. `['*']` allows every host, `[]` none. Up to 1,000.
   */
  readonly hosts: readonly (string | EgressHost)[];
  /**
   * By the name in `env`, where the function finds a placeholder: a random text that says nothing of the value. They count as environment variables. A
   * function's own binding, variable or secret of the same name takes the place of one of its account.
   * @default none
   */
  readonly secrets?: Readonly<Record<string, EgressSecret>>;
}
