/** The configuration of the realm of a run. */
export interface RunSetup {
  /** The names of the tools, with their namespaces: `crm.find`. */
  readonly tools: readonly string[];
}
