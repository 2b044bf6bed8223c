/** The configuration of an unavailable binding, as the function's realm gets it. */
export interface GuestUnavailableConfig {
  /** The message of the error. */
  readonly why: string;
}
