/** The path of a URL and the path of a file: each file answers under one spelling of its path, and other spellings redirect there. */

/** Nothing in it is decoded or encoded. */
const PLAIN = /^(?:\/[\w\-.!~*'()]*)*$/;

/** The path of the file that a URL names. An encoded slash is a slash, and repeated ones are one: the other spelling is what answers. */
export function decodedPath(path: string): string {
  if (PLAIN.test(path) && !path.includes('//')) return path;
  return path
    .split('/')
    .map(decodedSegment)
    .join('/')
    .replace(/\/{2,}/g, '/');
}

/** The one spelling under which the file answers. */
export function encodedPath(path: string): string {
  if (PLAIN.test(path)) return path;
  return path.split('/').map(encodedSegment).join('/');
}

function decodedSegment(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function encodedSegment(segment: string): string {
  try {
    return encodeURIComponent(segment);
  } catch {
    return segment;
  }
}
