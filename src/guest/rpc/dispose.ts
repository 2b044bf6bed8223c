/** `Symbol.dispose`, which the engines of older Node versions do not have. */
import { defineProperty } from '../primordials.ts';

interface SymbolWithDispose {
  readonly dispose?: symbol;
  readonly asyncDispose?: symbol;
}

function wellKnown(name: 'dispose' | 'asyncDispose'): symbol {
  const known = (Symbol as SymbolWithDispose)[name];
  if (known !== undefined) return known;
  const value = Symbol(`Symbol.${name}`);
  defineProperty(Symbol, name, { __proto__: null, value } as PropertyDescriptor);
  return value;
}

export const disposeSymbol = wellKnown('dispose');
wellKnown('asyncDispose');
