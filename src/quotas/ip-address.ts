/** Reads the text of IP addresses. */

/** The eight 16-bit groups of an address that `net.isIPv6` accepts, without its zone. */
export function ipv6Groups(address: string): number[] {
  const [plain = ''] = address.split('%');
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain);
  const [, start = '', ...octets] = dotted ?? [];
  const [o1 = 0, o2 = 0, o3 = 0, o4 = 0] = octets.map(Number);
  const text = dotted === null ? plain : `${start}${((o1 << 8) | o2).toString(16)}:${((o3 << 8) | o4).toString(16)}`;
  const [head = '', tail] = text.split('::');
  if (tail === undefined) return groups(head);
  const [before, after] = [groups(head), groups(tail)];
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function groups(part: string): number[] {
  return part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16));
}
