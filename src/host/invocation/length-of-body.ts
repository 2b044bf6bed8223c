const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The length that the head of an answer declares for its body. Undefined where it declares none, or two. */
export function lengthOfBody(status: number, head: string): number | undefined {
  if (WITHOUT_BODY.has(status) || !head.includes('content-length')) return undefined;
  const parts = head.split('\n');
  let length: string | undefined;
  for (let at = 1; at + 1 < parts.length; at += 2) {
    if (parts[at]?.toLowerCase() !== 'content-length') continue;
    if (length !== undefined) return undefined;
    length = parts[at + 1];
  }
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
