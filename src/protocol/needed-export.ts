/** An export of its own main module that a binding of a function names: a class of stateful objects, or the entrypoint of a service. */
export interface NeededExport {
  readonly binding: string;
  readonly name: string;
  readonly kind: 'object' | 'entrypoint';
}
