/** node:path/win32. */
import './path.ts';
import { win32 } from './win32.ts';

export default win32;
