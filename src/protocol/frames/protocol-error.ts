/** The peer sent what no honest one sends: the connection ends. */
export class ProtocolError extends Error {
  readonly code = 'EDGE_PROTOCOL';
}

/** Whatever is thrown while the bytes of a peer are read, the peer has caused it. */
export function asProtocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new ProtocolError(`The message could not be handled: ${text}`, { cause: error });
}
