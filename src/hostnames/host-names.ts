/** Host names as the URL parser writes them: ASCII, lower case, and here without the final dot, so that one name is one text. */

/** Letters, digits and anything beyond ASCII: a text that the parser would take for a port, a path or user information is no name. */
const NAME = /^[\w.\-\u0080-\u{10ffff}]+$/u;
const ADDRESS = /^\[[0-9a-f:.]+\]$/i;
const NORMAL_NAME = /^(?:[a-z0-9._-]*[a-z0-9_-]|\[[0-9a-f:.]+\])$/;

/** `EXAMPLE.com.` is `example.com`, `münchen.de` is `xn--mnchen-3ya.de`; undefined for what no request can name. */
export function normalName(text: string): string | undefined {
  if (!NAME.test(text) && !ADDRESS.test(text)) return undefined;
  let name: string;
  try {
    name = new URL(`http://${text}/`).hostname;
  } catch {
    return undefined;
  }
  name = withoutFinalDot(name);
  return NORMAL_NAME.test(name) ? name : undefined;
}

/** The name in the host of a URL, without its port. */
export function nameOfHost(host: string): string {
  return withoutFinalDot(host.replace(/:\d+$/, ''));
}

/** `b.example.com`, then `example.com`, then `com`: the names above a name. */
export function* namesAbove(name: string): Generator<string> {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) yield name.slice(dot + 1);
}

function withoutFinalDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
