/** Names one stateful object: its class is exported by a function of an account. */
export interface ObjectRef {
  readonly account: string;
  readonly functionName: string;
  readonly className: string;
  /** 64 hexadecimal digits. */
  readonly id: string;
}
