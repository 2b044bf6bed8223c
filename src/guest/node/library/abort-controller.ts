/** The classes of the realm, for libraries that bring their own. */
import { AbortController, AbortSignal } from '../../web/scheduling/abort.ts';

export default { AbortController, AbortSignal };
