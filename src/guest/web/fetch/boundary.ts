/** Boundaries of multipart bodies: unguessable, so that no part's content can contain one on purpose. */

import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import { numberToString, Uint8ArrayCtor } from '../../primordials.ts';

export function createBoundary(): string {
  const random = new Uint8ArrayCtor(16);
  op(Op.Random, random);
  let text = '----formdata-';
  for (let i = 0; i < random.length; i++) text += numberToString(0x100 + (random[i] ?? 0), 16);
  return text;
}
