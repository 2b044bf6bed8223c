/** The bodies of calls and answers of services that store values. */
import { guarded } from '../../quotas/guarded.js';
import { withEnd } from '../bodies/with-end.js';
import type { ServiceBody, ServiceCall } from '../service.js';
import type { StoredContent } from './stored-content.js';

/** Opens the content, which is released also when its reader goes away before it began to read. */
export function openContent(content: StoredContent, call: ServiceCall): ServiceBody {
  if (call.onlySendsBody === true && content.view !== undefined) return content.view();
  const body = content.open();
  if (body instanceof Uint8Array) return body;
  const { signal } = call;
  const release = guarded(() => content.release());
  if (signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
  return withEnd(body, () => signal.removeEventListener('abort', release));
}
