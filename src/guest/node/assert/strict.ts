/** node:assert/strict. */
import { strict } from './assert.ts';

export default strict;
