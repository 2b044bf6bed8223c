/** atob and btoa. @see https://html.spec.whatwg.org/multipage/webappapis.html#atob */
import { Op } from '../../../isolate/ops/table.ts';
import { opString } from '../../bridge.ts';
import { requireArguments, toDOMString } from '../base/idl.ts';

export function btoa(data: unknown): string {
  requireArguments(arguments.length, 1, 'btoa');
  return opString(Op.Base64Encode, toDOMString(data));
}

export function atob(data: unknown): string {
  requireArguments(arguments.length, 1, 'atob');
  return opString(Op.Base64Decode, toDOMString(data));
}
