/** The members of `process` that libraries need. */
import { nextTick } from '../process/ticks.ts';
import { emitWarning } from '../process/warnings.ts';

export default { nextTick, emitWarning, env: {}, version: 'v22.19.0', versions: {}, platform: 'linux' };
