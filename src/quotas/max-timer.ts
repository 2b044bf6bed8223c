/** In milliseconds. Node fires a timer that is set for longer after one millisecond. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
