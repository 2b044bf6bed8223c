/** MIMEType and MIMEParams. @see https://nodejs.org/api/util.html#class-utilmimetype */
import { parseMimeType, serializeMimeType } from '../../web/fetch/mime.ts';
import { codeError } from '../errors.ts';

const NOT_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
const NOT_VALUE = /[^\t\u0020-~\u0080-\u00FF]/;

function syntaxError(part: string, text: string, at: number): TypeError {
  const where = at < 0 ? '' : ` at ${at}`;
  return codeError(
    TypeError,
    'ERR_INVALID_MIME_SYNTAX',
    `The MIME syntax for a ${part} in "${text}" is invalid${where}`,
  );
}

function checkToken(part: string, text: string): void {
  const at = text.search(NOT_TOKEN);
  if (text === '' || at >= 0) throw syntaxError(part, text, at);
}

let parametersOf: (params: MIMEParams) => Map<string, string>;

export class MIMEParams {
  readonly #values = new Map<string, string>();

  static {
    parametersOf = params => params.#values;
  }

  delete(name: unknown): void {
    this.#values.delete(String(name));
  }

  get(name: unknown): string | null {
    return this.#values.get(String(name)) ?? null;
  }

  has(name: unknown): boolean {
    return this.#values.has(String(name));
  }

  set(name: unknown, value: unknown): void {
    const key = String(name);
    const text = String(value);
    checkToken('parameter name', key);
    const at = text.search(NOT_VALUE);
    if (at >= 0) throw syntaxError('parameter value', text, at);
    this.#values.set(key, text);
  }

  entries(): IterableIterator<[string, string]> {
    return this.#values.entries();
  }

  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  values(): IterableIterator<string> {
    return this.#values.values();
  }

  toString(): string {
    return serializeMimeType({ essence: '', parameters: this.#values }).slice(1);
  }

  toJSON(): string {
    return this.toString();
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

export class MIMEType {
  #type: string;
  #subtype: string;
  readonly #params = new MIMEParams();

  constructor(input: unknown) {
    const text = `${input}`;
    const trimmed = text.replace(/^[\t\n\f\r ]+/, '');
    const slash = trimmed.indexOf('/');
    const type = slash < 0 ? trimmed : trimmed.slice(0, slash);
    const at = type.search(NOT_TOKEN);
    if (type === '' || at >= 0 || slash < 0) throw syntaxError('type', text, at);
    const [subtype = ''] = trimmed.slice(slash + 1).split(';', 1);
    const name = subtype.replace(/[\t\n\f\r ]+$/, '');
    const wrong = name.search(NOT_TOKEN);
    if (name === '' || wrong >= 0) throw syntaxError('subtype', text, wrong);
    this.#type = type.toLowerCase();
    this.#subtype = name.toLowerCase();
    const own = parametersOf(this.#params);
    for (const [key, value] of parseMimeType(trimmed)?.parameters ?? []) own.set(key, value);
  }

  get type(): string {
    return this.#type;
  }

  set type(value: unknown) {
    const text = `${value}`;
    checkToken('type', text);
    this.#type = text.toLowerCase();
  }

  get subtype(): string {
    return this.#subtype;
  }

  set subtype(value: unknown) {
    const text = `${value}`;
    checkToken('subtype', text);
    this.#subtype = text.toLowerCase();
  }

  get essence(): string {
    return `${this.#type}/${this.#subtype}`;
  }

  get params(): MIMEParams {
    return this.#params;
  }

  toString(): string {
    return serializeMimeType({ essence: this.essence, parameters: parametersOf(this.#params) });
  }

  toJSON(): string {
    return this.toString();
  }
}
