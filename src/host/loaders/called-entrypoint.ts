/** The entrypoint in the arguments of a call of a loaded function, or of the caller's own. Function code has written them. */
import { MAX_PROPS_LENGTH } from '../../bindings/loader/wire.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { EntrypointTarget } from '../rpc/method-call.js';

const ENTRYPOINT = /^[A-Za-z_$][A-Za-z0-9_$]{0,254}$/;

/** @throws TypeError, RangeError */
export function checkEntrypoint(name: unknown, propsText: unknown): EntrypointTarget {
  if (typeof name !== 'string' || typeof propsText !== 'string') throw new TypeError('The call is malformed');
  if (name !== '' && !ENTRYPOINT.test(name)) {
    throw new TypeError(
      `The entrypoint is ${describe(name)}, expected the name of an export of the main module: a JavaScript identifier of up to 255 characters`,
    );
  }
  const entrypoint = name === '' || name === 'default' ? {} : { entrypoint: name };
  return propsText === '' ? entrypoint : { ...entrypoint, props: checkProps(propsText) };
}

/** @throws TypeError, RangeError */
function checkProps(text: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_PROPS_LENGTH) {
    throw new RangeError(`The props have ${text.length} characters as JSON, at most ${MAX_PROPS_LENGTH} are allowed`);
  }
  const props: unknown = JSON.parse(text);
  if (!isObject(props) || Array.isArray(props))
    throw new TypeError(`The props are ${describe(props)}, expected an object`);
  return props;
}
