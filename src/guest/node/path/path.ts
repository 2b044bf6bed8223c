/** node:path, which is the one of POSIX: functions have no other. */
import { posix } from './posix.ts';
import { win32 } from './win32.ts';

Object.assign(posix, { posix, win32 });
Object.assign(win32, { posix, win32 });

export default posix;
