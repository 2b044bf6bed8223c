/** The peer sent what no honest one sends: the connection ends. */
export class ProtocolError extends Error {
  readonly code = 'EDGE_PROTOCOL';
}
