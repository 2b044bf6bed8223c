/** The configuration of the realm of a run. */
export interface RunSetup {
  /** The names of the tools, with their namespaces: `crm.find`. */
  readonly tools: readonly string[];
  /** The time at which the clock of the code begins, which answers move. @default the clock of the system, for a run that cannot be paused */
  readonly clockMs?: number;
  /** 32 bytes in hexadecimal digits: random values come from this key. @default the system makes them, for a run that cannot be paused */
  readonly randomKey?: string;
}

/** The environment of code that a function has loaded. */
export interface LoadedSetup {
  /** JSON of a value (bindings/callbacks/wire.ts); '' for an empty environment. */
  readonly env: string;
  /** The byte sequences of the value, in Base64. */
  readonly bytes: readonly string[];
  /** The number of the services that the value refers to. */
  readonly services: number;
  /** Requests go to a service, and not to the network. */
  readonly hasOutbound?: true;
}

/** Stands before the traces of a tail event, as JSON and a line break, when an entrypoint gets them: its name, and JSON of its props. */
export interface TailLead {
  readonly e?: string;
  readonly p?: string;
}
