import type { ServiceBody } from '../service.js';

/** A body that stays unread is cancelled: otherwise its sender would wait indefinitely. */
export function cancelBody(body: ServiceBody | null): void {
  if (body === null || body instanceof Uint8Array) return;
  try {
    // How it ends is of no interest. The iterator may be the application's.
    body[Symbol.asyncIterator]()
      .return?.()
      ?.catch(() => {});
  } catch {
    // It was read before, and cancelled by its reader.
  }
}
