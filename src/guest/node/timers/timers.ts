/** node:timers. It has the functions of the global scope, whose timers are numbers. */
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../web/scheduling/timers.ts';
import { clearImmediate, setImmediate } from './immediate.ts';

export default { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
