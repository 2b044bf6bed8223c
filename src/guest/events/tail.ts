/** The argument of a tail handler: traces of other functions' invocations. */
import type { TailLead } from '../../protocol/run-setup.ts';
import { DateCtor, jsonParse, stringIndexOf, stringSlice } from '../primordials.ts';
import { defineOwn, defineValue } from '../web/base/idl.ts';

interface Item {
  event: { request?: object; unredacted?: object; scheduledTime?: number; cron?: string } | null;
}

/** The entrypoint, its props, and the traces of an event: a service that watches loaded code has a lead before the traces. The host has written the text. */
export function tailOf(text: string): {
  readonly entrypoint: string | undefined;
  readonly props: string | undefined;
  readonly json: string;
} {
  if (text[0] !== '{') return { entrypoint: undefined, props: undefined, json: text };
  const end = stringIndexOf(text, '\n');
  const { e, p }: TailLead = jsonParse(stringSlice(text, 0, end));
  return { entrypoint: e, props: p, json: stringSlice(text, end + 1) };
}

/** The host has written the text. */
export function traceItems(json: string): readonly object[] {
  const items: Item[] = jsonParse(json);
  for (let i = 0; i < items.length; i++) {
    const event = items[i]?.event ?? null;
    if (event === null) continue;
    // Alarms have a Date where cron triggers have a number.
    if (event.scheduledTime !== undefined && event.cron === undefined) {
      defineOwn(event, 'scheduledTime', new DateCtor(event.scheduledTime));
    }
    const { request } = event;
    if (request === undefined) continue;
    const original = event.unredacted ?? request;
    // Not enumerable: code that prints an item prints the redacted values.
    defineValue(request, 'getUnredacted', () => original);
    delete event.unredacted;
  }
  return items;
}
