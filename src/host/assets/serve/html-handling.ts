/**
 * Which file answers a path, by `htmlHandling` and `notFoundHandling`. A page has one URL: its other URLs redirect there, unless the redirect would lead to
 * another file.
 */
import type { HtmlHandling, NotFoundHandling } from '../../../bindings/assets/asset-options.js';
import type { AssetEntry } from '../index/asset-entry.js';

export type AssetFiles = ReadonlyMap<string, AssetEntry>;

export type FoundAsset =
  | { readonly kind: 'file'; readonly entry: AssetEntry; readonly status: 200 | 404 }
  /** To this path, which is not encoded. */
  | { readonly kind: 'redirect'; readonly to: string };

/** Tries a file: serves it, or redirects to the path under which it is served. */
interface Step {
  readonly file: string;
  readonly to?: string;
}

/** @param path decoded, beginning with a slash */
export function findAsset(files: AssetFiles, path: string, handling: HtmlHandling): FoundAsset | undefined {
  const exact = files.get(path);
  // Most requests name a file that is no page.
  if (exact !== undefined && (handling === 'none' || !path.endsWith('.html'))) return fileOf(exact);
  if (handling === 'none') return undefined;
  for (const { file, to } of stepsOf(path, handling)) {
    const entry = files.get(file);
    if (entry === undefined) continue;
    if (to === undefined) return fileOf(entry);
    if (!files.has(to) && servedAt(files, to, handling) === entry) return { kind: 'redirect', to };
  }
  return undefined;
}

/** The answer to a path that has no file. */
export function findInstead(files: AssetFiles, path: string, handling: NotFoundHandling): FoundAsset | undefined {
  if (handling === 'single-page-application') {
    const page = files.get('/index.html');
    return page && fileOf(page);
  }
  if (handling === 'none') return undefined;
  for (let end = path.lastIndexOf('/'); end >= 0; end = end === 0 ? -1 : path.lastIndexOf('/', end - 1)) {
    const page = files.get(`${path.slice(0, end)}/404.html`);
    if (page !== undefined) return { kind: 'file', entry: page, status: 404 };
  }
  return undefined;
}

/** The file that the path serves without a redirect. */
function servedAt(files: AssetFiles, path: string, handling: HtmlHandling): AssetEntry | undefined {
  for (const { file, to } of stepsOf(path, handling)) {
    const entry = to === undefined ? files.get(file) : undefined;
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function stepsOf(path: string, handling: HtmlHandling): readonly Step[] {
  if (handling === 'auto-trailing-slash') return stepsAuto(path);
  return handling === 'force-trailing-slash' ? stepsForce(path) : stepsDrop(path);
}

/** A page `name.html` is at `name`, a page `name/index.html` is at `name/`. */
function stepsAuto(path: string): readonly Step[] {
  const last: Step[] = [{ file: path }, { file: `${path}.html` }, { file: `${path}/index.html`, to: `${path}/` }];
  if (path.endsWith('/index')) {
    const base = path.slice(0, -'/index'.length);
    return [{ file: path }, { file: `${path}.html`, to: `${base}/` }, { file: `${base}.html`, to: base }, ...last];
  }
  if (path.endsWith('/index.html')) {
    const base = path.slice(0, -'/index.html'.length);
    return [{ file: path, to: `${base}/` }, { file: `${base}.html`, to: base }, ...last];
  }
  if (path.endsWith('/')) {
    const base = path.slice(0, -1);
    return [{ file: `${path}index.html` }, { file: `${base}.html`, to: base }, ...last];
  }
  if (!path.endsWith('.html')) return last;
  const stem = path.slice(0, -'.html'.length);
  return [{ file: path, to: stem }, { file: `${stem}/index.html`, to: `${stem}/` }, ...last];
}

/** Both pages are at `name/`. */
function stepsForce(path: string): readonly Step[] {
  const last: Step[] = [
    { file: path },
    { file: `${path}.html`, to: `${path}/` },
    { file: `${path}/index.html`, to: `${path}/` },
  ];
  if (path.endsWith('/index')) {
    const base = path.slice(0, -'index'.length);
    return [
      { file: path },
      { file: `${path}.html`, to: base },
      { file: `${base.slice(0, -1)}.html`, to: base },
      ...last,
    ];
  }
  if (path.endsWith('/index.html')) {
    const base = path.slice(0, -'index.html'.length);
    return [{ file: path, to: base }, { file: `${base.slice(0, -1)}.html`, to: base }, ...last];
  }
  if (path.endsWith('/')) return [{ file: `${path}index.html` }, { file: `${path.slice(0, -1)}.html` }, ...last];
  if (!path.endsWith('.html')) return last;
  const stem = path.slice(0, -'.html'.length);
  return [{ file: path, to: `${stem}/` }, { file: path }, { file: `${stem}/index.html`, to: `${stem}/` }, ...last];
}

/** Both pages are at `name`. The first page is at `/`. */
function stepsDrop(path: string): readonly Step[] {
  const last: Step[] = [{ file: path }, { file: `${path}.html` }, { file: `${path}/index.html` }];
  if (path === '/index') return [{ file: path }, { file: '/index.html', to: '/' }, ...last];
  if (path === '/index.html') return [{ file: path, to: '/' }, ...last];
  if (path === '/') return [{ file: '/index.html' }, ...last];
  if (path.endsWith('/index')) {
    const base = path.slice(0, -'/index'.length);
    return [{ file: path }, { file: `${base}.html`, to: base }, { file: `${path}.html`, to: base }, ...last];
  }
  if (path.endsWith('/index.html')) {
    const base = path.slice(0, -'/index.html'.length);
    return [{ file: path, to: base }, { file: path }, { file: `${base}.html`, to: base }, ...last];
  }
  if (path.endsWith('/')) {
    const base = path.slice(0, -1);
    return [{ file: `${base}.html`, to: base }, { file: `${base}/index.html`, to: base }, ...last];
  }
  if (!path.endsWith('.html')) return last;
  const stem = path.slice(0, -'.html'.length);
  return [{ file: path, to: stem }, { file: `${stem}/index.html`, to: stem }, ...last];
}

function fileOf(entry: AssetEntry): FoundAsset {
  return { kind: 'file', entry, status: 200 };
}
