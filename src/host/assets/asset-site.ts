/** The static files of one version of a function: which requests they answer, and how. */
import type { HtmlHandling, NotFoundHandling } from '../../bindings/assets/asset-options.js';
import { EdgeError } from '../../quotas/errors.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { AssetEntry } from './index/asset-entry.js';
import type { AssetSource } from './index/read-asset.js';
import type { HeaderRules } from './rules/header-rules.js';
import type { MatchedRedirect, RedirectRules } from './rules/redirect-rules.js';
import type { RunFirst } from './rules/run-first.js';
import { type AssetAnswer, type AssetRequest, headerIn } from './serve/asset-answer.js';
import { decodedPath, encodedPath } from './serve/asset-path.js';
import { type AssetRange, hasStrongTag, hasTag, rangeOf } from './serve/byte-range.js';
import { type AssetFiles, findAsset, findInstead } from './serve/html-handling.js';

export interface AssetSiteParts {
  /** Absolute. */
  readonly root: string;
  readonly files: AssetFiles;
  readonly htmlHandling: HtmlHandling;
  readonly notFoundHandling: NotFoundHandling;
  readonly redirects: RedirectRules | undefined;
  readonly headers: HeaderRules | undefined;
  readonly runFirst: RunFirst;
  /** Without one, the files answer every request. */
  readonly hasScript: boolean;
  /** A navigation of a browser to a path without a file gets the page of `notFoundHandling`, and no other request does. */
  readonly answersNavigations: boolean;
  /** A hash of the paths and their contents. */
  readonly digest: string;
  /** The account that pays for reading them. */
  readonly share: HostShare;
  readonly warn: (error: Error) => void;
  readonly release: () => void;
}

/** Browsers ask each time whether the file has changed. */
const CACHE_CONTROL = 'public, max-age=0, must-revalidate';

export class AssetSite {
  readonly #parts: AssetSiteParts;
  readonly source: AssetSource;
  #isReleased = false;
  #isChangeReported = false;

  /** Made by `openSite()`. */
  constructor(parts: AssetSiteParts) {
    this.#parts = parts;
    this.source = { root: parts.root, share: parts.share };
  }

  get root(): string {
    return this.#parts.root;
  }

  get files(): AssetFiles {
    return this.#parts.files;
  }

  get digest(): string {
    return this.#parts.digest;
  }

  /** No version serves them any more: the account no longer pays for the index. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#parts.release();
  }

  /** Warns once that files have changed: only loading the function again helps. */
  noted<E>(error: E): E {
    if (error instanceof EdgeError && error.code === 'EDGE_ASSETS_CHANGED' && !this.#isChangeReported) {
      this.#isChangeReported = true;
      this.#parts.warn(error);
    }
    return error;
  }

  noting<T>(read: Promise<T>): Promise<T> {
    return read.catch((error: unknown) => {
      throw this.noted(error);
    });
  }

  /** The answer to a request that has come for the function; undefined where the function answers. */
  route(request: AssetRequest): AssetAnswer | undefined {
    const { hasScript, runFirst, answersNavigations } = this.#parts;
    const url = new URL(request.url);
    if (!hasScript) return this.#answer(request, url, true);
    const first = runFirst.choose(url.pathname);
    if (first === 'function') return undefined;
    if (first === 'assets') return this.#answer(request, url, true);
    const isNavigation = answersNavigations && headerIn(request, 'sec-fetch-mode') === 'navigate';
    return this.#find(request, url, isNavigation);
  }

  /** The answer to a request of the function itself. */
  fetch(request: AssetRequest): AssetAnswer {
    return this.#answer(request, new URL(request.url), true);
  }

  #answer(request: AssetRequest, url: URL, takesInstead: boolean): AssetAnswer {
    return this.#find(request, url, takesInstead) ?? this.#bare(url, 404, []);
  }

  /** @param takesInstead a path without a file has an answer, too */
  #find(request: AssetRequest, url: URL, takesInstead: boolean): AssetAnswer | undefined {
    const { files, htmlHandling, notFoundHandling, redirects } = this.#parts;
    const redirect = redirects?.match(url.hostname, url.pathname);
    if (redirect !== undefined && redirect.status !== 200) return this.#redirect(url, redirect);
    const isRewritten = redirect !== undefined;
    const path = isRewritten ? new URL(redirect.target, url).pathname : url.pathname;
    const decoded = decodedPath(path);
    const found =
      findAsset(files, decoded, htmlHandling) ??
      (takesInstead ? findInstead(files, decoded, notFoundHandling) : undefined);
    if (found === undefined) return isRewritten ? this.#bare(url, 404, []) : undefined;
    if (request.method !== 'GET' && request.method !== 'HEAD') return this.#bare(url, 405, ['allow', 'GET, HEAD']);
    const canonical = encodedPath(found.kind === 'redirect' ? found.to : decoded);
    if (found.kind === 'redirect' || canonical !== path)
      return this.#bare(url, 307, ['location', `${canonical}${url.search}`]);
    return this.#serve(request, url, found.entry, found.status);
  }

  #serve(request: AssetRequest, url: URL, entry: AssetEntry, status: 200 | 404): AssetAnswer {
    const etag = `"${entry.etag}"`;
    const range = headerIn(request, 'range');
    const own = ['etag', etag, 'content-type', entry.type, 'accept-ranges', 'bytes'];
    if (range === undefined && headerIn(request, 'authorization') === undefined)
      own.push('cache-control', CACHE_CONTROL);
    // RFC 9110, 13.2.2: If-Match comes before If-None-Match.
    const ifMatch = headerIn(request, 'if-match');
    if (status === 200 && ifMatch !== undefined && !hasStrongTag(ifMatch, etag))
      return this.#bare(url, 412, ['etag', etag]);
    const ifNoneMatch = headerIn(request, 'if-none-match');
    if (status === 200 && ifNoneMatch !== undefined && hasTag(ifNoneMatch, etag))
      return { status: 304, headers: this.#changed(url, own), body: undefined };
    const ifRange = headerIn(request, 'if-range');
    const isPart = status === 200 && request.method === 'GET' && (ifRange === undefined || ifRange.trim() === etag);
    const part = isPart ? rangeOf(range, entry.bytes) : undefined;
    if (part === 'none') return this.#bare(url, 416, [...own, 'content-range', `bytes */${entry.bytes}`]);
    return this.#whole(request, url, entry, part, own, status);
  }

  #whole(
    { method }: AssetRequest,
    url: URL,
    entry: AssetEntry,
    part: AssetRange | undefined,
    own: string[],
    status: number,
  ): AssetAnswer {
    const { offset, length } = part ?? { offset: 0, length: entry.bytes };
    if (part !== undefined) own.push('content-range', `bytes ${offset}-${offset + length - 1}/${entry.bytes}`);
    own.push('content-length', String(length));
    const headers = this.#changed(url, own);
    const body = method === 'HEAD' || length === 0 ? undefined : { entry, offset, length };
    return { status: part === undefined ? status : 206, headers, body };
  }

  #redirect(url: URL, { status, target }: MatchedRedirect): AssetAnswer {
    const to = new URL(target, url);
    const query = to.search === '' ? url.search : to.search;
    // Two slashes at the start would name another host.
    const where = to.origin === url.origin ? to.pathname.replace(/^\/{2,}/, '/') : `${to.origin}${to.pathname}`;
    return this.#bare(url, status, ['location', `${where}${query}${to.hash}`]);
  }

  #bare(url: URL, status: number, own: readonly string[]): AssetAnswer {
    return { status, headers: this.#changed(url, [...own, 'content-length', '0']), body: undefined };
  }

  #changed(url: URL, headers: readonly string[]): readonly string[] {
    return this.#parts.headers?.apply(url.hostname, url.pathname, headers) ?? headers;
  }
}
