/** The checks of addresses. */

const PART = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${PART}(?:\\.${PART}){3}$`);

export function isIPv4(address: unknown): boolean {
  return IPV4.test(String(address));
}

export function isIPv6(address: unknown): boolean {
  const [text = '', zone, ...others] = String(address).split('%');
  if (others.length > 0 || (zone !== undefined && !/^[\w.-]+$/.test(zone))) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap(half => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1);
  let count = groups.length;
  if (last?.includes('.')) {
    if (!isIPv4(last) || (halves.length === 2 && halves[1] === '')) return false;
    groups.pop();
    count++;
  }
  if (!groups.every(group => /^[\da-fA-F]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? count < 8 : count === 8;
}

export function isIP(address: unknown): 0 | 4 | 6 {
  if (isIPv4(address)) return 4;
  return isIPv6(address) ? 6 : 0;
}
