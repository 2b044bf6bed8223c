/** node:async_hooks. Hooks of asynchronous operations are not supported: they would run inside every promise of the isolate. */
import { AsyncLocalStorage } from './async-local-storage.ts';
import { AsyncResource } from './async-resource.ts';

export default { AsyncLocalStorage, AsyncResource };
