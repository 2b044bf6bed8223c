/** With what an isolate's thread exits by itself. */

/** The host has closed the connection. */
export const CLOSED_EXIT = 0;
/** Writing to the host or reading from it was broken off in the middle, so that later frames would be misread. */
export const TORN_EXIT = 70;

/** How a thread has ended, from the error of its pool. */
export function exitDetail(message: string): string {
  return message.endsWith(`exited with code: ${TORN_EXIT}`)
    ? 'its connection to the host was broken off in the middle of a frame, as by the end of its stack'
    : message;
}
