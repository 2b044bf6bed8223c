/** Hides parts of a request from tails: values of headers that authenticate, and parts of URLs that look like ids or keys. */

export interface TraceRequest {
  readonly method: string;
  readonly url: string;
  /** By lower-case name; values of one name are joined by a comma. Empty when they did not fit into `logBytes`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cf: Readonly<Record<string, unknown>>;
}

const REDACTED = 'REDACTED';

const SECRET_NAMES = /auth|jwt|key|secret|token/i;
const COOKIES: ReadonlySet<string> = new Set(['cookie', 'set-cookie']);

/** Parts of a URL that ids may stand in. */
const RUNS = /[A-Za-z0-9+/=_:-]+/g;
/** 32 hexadecimal digits and more, with the separators of UUIDs and fingerprints. */
const MIN_HEX = 32;
/** 21 characters of base64 and more. Words have no digits, and numbers no letters. */
const MIN_BASE64 = 21;

/** The request without them; undefined when there is nothing to redact. */
export function redactedRequest(request: TraceRequest): TraceRequest | undefined {
  let isRedacted = false;
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => {
      if (!COOKIES.has(name) && !SECRET_NAMES.test(name)) return [name, value];
      isRedacted = true;
      return [name, REDACTED];
    }),
  );
  const url = redactedUrl(request.url);
  if (url === request.url && !isRedacted) return undefined;
  return { ...request, url, headers };
}

export function redactedUrl(url: string): string {
  // The host is not secret: who watches knows whose function it is.
  const start = url.indexOf('/', url.indexOf('://') + 3);
  if (start < 0) return url;
  // The slash is a character of base64, too, but it mostly ends a part of a path.
  const parts = url.slice(start).split(/([/?&=#.])/);
  return url.slice(0, start) + parts.map(part => part.replace(RUNS, run => (isId(run) ? REDACTED : run))).join('');
}

function isId(run: string): boolean {
  if (/^[0-9a-fA-F_:-]+$/.test(run) && count(run, /[0-9a-fA-F]/g) >= MIN_HEX) return true;
  if (run.length < MIN_BASE64) return false;
  return count(run, /[A-Z]/g) >= 2 && count(run, /[a-z]/g) >= 2 && count(run, /[0-9]/g) >= 2;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
