/** Base64 for atob and btoa. */
import { atob, btoa } from 'node:buffer';
import { checkedText, OpError } from '../arguments.js';
import type { OpSet } from '../op-set.js';
import { Op } from '../table.js';

const MAX_LENGTH = 0x1fff_ffff;

export const base64Ops: OpSet = {
  [Op.Base64Encode]: text => convert(btoa, text, 'The text has a character outside of Latin-1'),
  [Op.Base64Decode]: text => convert(atob, text, 'The text is not valid base64'),
};

function convert(conversion: (text: string) => string, value: unknown, failure: string): string {
  const text = checkedText(value, MAX_LENGTH);
  try {
    return conversion(text);
  } catch {
    throw new OpError('InvalidCharacterError', failure);
  }
}
