/** Warnings and debug output, which go to the log of the invocation. */
import { warn } from '../../web/console/warn.ts';
import { checkFunction, checkString } from '../errors.ts';
import { functionEnv, requireNode } from '../options.ts';
import { isUnsupported } from '../unsupported.ts';
import { formatWithOptions } from './inspect.ts';

type Call = (this: unknown, ...args: unknown[]) => unknown;

export function emitWarning(text: string, type: string, code?: string): void {
  const { emitWarning: emit } = requireNode('process') as { emitWarning?: (...args: unknown[]) => void }; // any object can be read from
  if (emit !== undefined && !isUnsupported(emit)) emit(text, type, code);
  else warn(`${code === undefined ? '' : `[${code}] `}${type}: ${text}`);
}

const warnedCodes = new Set<string>();

export function deprecate(call: Call, text: string, code?: string): Call {
  checkFunction(call, 'fn');
  if (code !== undefined) checkString(code, 'code');
  let isWarned = false;
  const deprecated: Call = function (...args) {
    if (!isWarned) {
      isWarned = true;
      if (code === undefined || !warnedCodes.has(code)) {
        if (code !== undefined) warnedCodes.add(code);
        emitWarning(text, 'DeprecationWarning', code);
      }
    }
    return new.target === undefined ? Reflect.apply(call, this, args) : Reflect.construct(call, args, new.target);
  };
  Object.setPrototypeOf(deprecated, call);
  if (call.prototype !== undefined) deprecated.prototype = call.prototype;
  return deprecated;
}

/** NODE_DEBUG has names of sections with commas between them; `*` stands for any text. */
function isDebugged(section: string): boolean {
  const names = Reflect.get(functionEnv(), 'NODE_DEBUG');
  if (typeof names !== 'string' || names === '') return false;
  const pattern = names
    .replace(/[|\\{}()[\]^$+?.]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll(',', '$|^');
  return new RegExp(`^${pattern}$`, 'i').test(section);
}

export function debuglog(section: string, ready?: (log: Call) => void): Call {
  const name = String(section).toUpperCase();
  let isEnabled: boolean | undefined;
  const log: Call = (...args) => {
    isEnabled ??= isDebugged(name);
    ready?.(log);
    if (isEnabled) warn(`${name}: ${formatWithOptions({}, ...args)}`);
  };
  const enabled = { get: () => (isEnabled ??= isDebugged(name)), enumerable: true, configurable: true };
  return Object.defineProperty(log, 'enabled', enabled);
}
