/** A run: the main module is evaluated, its default export is called with the input and the tools, and what it returns is the answer. */
import type { BodyForm } from '../../bindings/function/wire.ts';
import { BODY_STREAM, Ev, Op } from '../../isolate/ops/table.ts';
import { onEvent, op } from '../bridge.ts';
import { valueBody } from '../callbacks/body.ts';
import { decodeValue } from '../callbacks/decode.ts';
import { encodeValue } from '../callbacks/encode.ts';
import { theEnv } from '../env/env.ts';
import { fail, replyWith } from '../events/answers.ts';
import { GuestInvocation } from '../events/invocation.ts';
import { HostBody } from '../host-body.ts';
import { importMain } from '../loader.ts';
import { jsonParse, jsonStringify, reflectApply, TypeErrorCtor } from '../primordials.ts';
import { takeValue } from '../rpc/calls.ts';
import { leaveGlobalScope } from '../scope.ts';
import { isCallable } from '../web/base/idl.ts';

let tools: object = {};

/** The tools of the run, which come with its configuration. */
export function setTools(given: object): void {
  tools = given;
}

onEvent(Ev.Run, (id: number, text: string, bodySize: number) => {
  leaveGlobalScope();
  const head: BodyForm = jsonParse(text); // the host's
  const body = bodySize === 0 ? null : new HostBody(id, bodySize < 0 ? BODY_STREAM : bodySize);
  void answer(new GuestInvocation(id), head, body);
});

async function answer(invocation: GuestInvocation, head: BodyForm, body: HostBody | null): Promise<void> {
  try {
    const { json, parts } = await takeValue(body, head, false);
    const input = decodeValue(jsonParse(json), parts);
    const { namespace } = await importMain();
    const main: unknown = (namespace as { readonly default?: unknown }).default; // a namespace can be read from
    if (!isCallable(main))
      throw new TypeErrorCtor(
        'The module has no default export that is a function: write export default async ({ tools, input }) => { ... }',
      );
    reply(invocation, await reflectApply(main, undefined, [{ tools, input, env: theEnv() }]));
  } catch (error) {
    fail(invocation, error, 'EDGE_HANDLER_THREW');
  }
}

/** @throws DOMException DataCloneError for a value that cannot be passed */
function reply(invocation: GuestInvocation, value: unknown): void {
  const { json, bytes, stream } = encodeValue(value, undefined, 'returned from a run');
  const text = jsonStringify(json);
  if (value === undefined) {
    const hint = op(Op.RunHint);
    replyWith(invocation, hint === undefined ? '{}' : jsonStringify({ __proto__: null, h: hint }), text);
    return;
  }
  if (bytes.length === 0 && stream === undefined) {
    replyWith(invocation, '{}', text);
    return;
  }
  if (stream !== undefined)
    throw new TypeErrorCtor('A stream cannot be returned from a run: return its bytes or its text');
  const { form, body } = valueBody(text, bytes, undefined);
  replyWith(invocation, jsonStringify(form), body ?? '');
}
