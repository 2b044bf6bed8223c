/** Responses that the application's own code answers with. It may have the class of another fetch library, so they are known by their shape. */

/** The kind of response that `isResponse` accepts, for messages. */
export const A_RESPONSE = 'a Response that was not read, with a status from 200 to 599';

export function isResponse(value: unknown): value is Response {
  if (typeof value !== 'object' || value === null) return false;
  if (!('status' in value && 'headers' in value && 'body' in value)) return false;
  const { status, headers, body } = value;
  const isStatus = typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599;
  return isStatus && isIterable(headers) && (body === null || isUnreadStream(body));
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

function isUnreadStream(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'getReader' in value &&
    typeof value.getReader === 'function' &&
    !('locked' in value && value.locked === true)
  );
}
