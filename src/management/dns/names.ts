/** Domain names as records carry them: ASCII (RFC 5891), lower case, without the final dot, at most 253 characters. */

import { domainToASCII } from 'node:url';

/** RFC 1035, 2.3.4. */
const LABEL_BYTES = 63;
const NAME_BYTES = 253;

export type NameCheck = { readonly ok: true; readonly name: string } | { readonly ok: false; readonly reason: string };

/** Underscores may stand in every label (RFC 8552), a wildcard only in place of the first (RFC 4592). */
export function checkName(text: string, options: { readonly wildcard: boolean }): NameCheck {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text;
  if (bare === '') return { ok: false, reason: 'is empty' };
  const labels: string[] = [];
  for (const [index, label] of bare.split('.').entries()) {
    if (label === '*' && index === 0 && options.wildcard) {
      labels.push(label);
      continue;
    }
    const ascii = asciiLabel(label);
    if (ascii === null) return { ok: false, reason: `has the label ${JSON.stringify(label.slice(0, 80))}` };
    if (ascii.length > LABEL_BYTES) {
      return { ok: false, reason: `has a label of ${ascii.length} characters, at most ${LABEL_BYTES} are allowed` };
    }
    labels.push(ascii);
  }
  const name = labels.join('.');
  if (name.length > NAME_BYTES) {
    return { ok: false, reason: `has ${name.length} characters, at most ${NAME_BYTES} are allowed` };
  }
  return { ok: true, name };
}

/** `www`, `@` and `www.example.com` in the zone `example.com` are all taken; the result is the full name. */
export function nameInZone(text: string, zone: string): NameCheck {
  if (text === '@') return { ok: true, name: zone };
  const given = checkName(text, { wildcard: true });
  if (!given.ok || given.name === zone || given.name.endsWith(`.${zone}`)) return given;
  if (text.endsWith('.')) return { ok: false, reason: `is not in the zone ${zone}` };
  return checkName(`${given.name}.${zone}`, { wildcard: true });
}

function asciiLabel(label: string): string | null {
  let ascii = label;
  if (/[^\0-\x7f]/.test(label)) {
    // Only the part that is not ASCII needs IDNA; ASCII that a URL would read otherwise is refused first.
    if (/[^\w\-\u0080-\u{10ffff}]/u.test(label)) return null;
    ascii = domainToASCII(label);
  }
  ascii = ascii.toLowerCase();
  return /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/.test(ascii) ? ascii : null;
}
