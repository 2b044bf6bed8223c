/** URLs, parsed by the URL class of Node. The guest gets the serialized URL. */
import { checkedInteger, checkedText, OpError, optionalText } from '../arguments.js';
import type { OpSet } from '../op-set.js';
import { Op, UrlField } from '../table.js';

/** Longer than any URL in use; `data:` URLs can be long. */
const MAX_URL_LENGTH = 16 * 1024 * 1024;

/** URL.parse is there from Node 22.1 on and spares the error of an invalid URL. */
const parseUrl: (url: string, base: string | undefined) => URL | null =
  'parse' in URL && typeof URL.parse === 'function' ? URL.parse.bind(URL) : construct;

function construct(url: string, base: string | undefined): URL | null {
  try {
    return new URL(url, base);
  } catch {
    return null;
  }
}

const FIELDS = fieldTable({
  [UrlField.Protocol]: 'protocol',
  [UrlField.Username]: 'username',
  [UrlField.Password]: 'password',
  [UrlField.Host]: 'host',
  [UrlField.Hostname]: 'hostname',
  [UrlField.Port]: 'port',
  [UrlField.Pathname]: 'pathname',
  [UrlField.Search]: 'search',
  [UrlField.Hash]: 'hash',
});

type Settable = Lowercase<keyof typeof UrlField>;

function fieldTable(table: { readonly [field in UrlField]: Settable }): readonly Settable[] {
  return Object.values(table);
}

export const urlOps: OpSet = {
  [Op.UrlParse]: (url, base) =>
    parseUrl(checkedText(url, MAX_URL_LENGTH), optionalText(base, MAX_URL_LENGTH))?.href ?? undefined,
  [Op.UrlCanParse]: (url, base) =>
    URL.canParse(checkedText(url, MAX_URL_LENGTH), optionalText(base, MAX_URL_LENGTH)) ? 1 : 0,
  [Op.UrlUpdate]: (href, field, value) => {
    const url = parseUrl(checkedText(href, MAX_URL_LENGTH), undefined);
    const name = FIELDS[checkedInteger(field, 0, FIELDS.length - 1)];
    if (url === null || name === undefined) throw new OpError('TypeError', 'The URL is not valid');
    url[name] = checkedText(value, MAX_URL_LENGTH);
    return url.href;
  },
};
