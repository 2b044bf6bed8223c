/** Opens the static files of a version of a function: reads the rules and indexes the folder. */
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AssetsOptions } from '../../bindings/assets/asset-options.js';
import { isInForce } from '../../bindings/compatibility-flags.js';
import { EdgeError, messageOf } from '../../quotas/errors.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import { AssetSite } from './asset-site.js';
import { buildIndex } from './index/build-index.js';
import { HEADERS_FILE, REDIRECTS_FILE } from './index/ignore-rules.js';
import { HeaderRules } from './rules/header-rules.js';
import { RedirectRules } from './rules/redirect-rules.js';
import { readRuleFile } from './rules/rule-file.js';
import { RunFirst } from './rules/run-first.js';

export interface SiteOptions {
  readonly assets: AssetsOptions;
  /** The function, for messages. */
  readonly name: string;
  readonly hasScript: boolean;
  readonly share: HostShare;
  readonly limits: Pick<ResolvedLimits, 'assetFiles' | 'assetFileBytes' | 'plan'>;
  readonly compatibility: { readonly date: string; readonly flags: readonly string[] };
  /** The files of the version before. */
  readonly previous: AssetSite | undefined;
  readonly warn: (error: Error) => void;
}

/** Parsed rules take some times their text. */
const RULE_BYTES_PER_CHARACTER = 4;

/** Rejects with EDGE_CONFIG_INVALID for a folder or rules that cannot be used, and as `buildIndex` does. */
export async function openSite(options: SiteOptions): Promise<AssetSite> {
  const { assets, name, hasScript, share, limits, compatibility, previous, warn } = options;
  const { directory, htmlHandling = 'auto-trailing-slash', notFoundHandling = 'none', runWorkerFirst = false } = assets;
  const root = await folderOf(directory, name);
  let heldBytes = 0;
  const count = (bytes: number): void => {
    heldBytes += bytes;
    share.bytes.countHeap(bytes);
  };
  const release = (): void => share.bytes.countHeap(-heldBytes);
  try {
    const redirectText = await readRuleFile(root, REDIRECTS_FILE);
    const headerText = await readRuleFile(root, HEADERS_FILE);
    count(RULE_BYTES_PER_CHARACTER * ((redirectText?.length ?? 0) + (headerText?.length ?? 0)));
    const redirects =
      redirectText === undefined
        ? undefined
        : new RedirectRules(join(directory, REDIRECTS_FILE), redirectText, htmlHandling !== 'none');
    const headers = headerText === undefined ? undefined : new HeaderRules(join(directory, HEADERS_FILE), headerText);
    const { files, digest } = await buildIndex({
      root,
      hiddenFiles: assets.hiddenFiles === true,
      share,
      limits,
      name,
      previous: previous?.root === root ? previous.files : undefined,
      count,
    });
    return new AssetSite({
      root,
      files,
      digest,
      htmlHandling,
      notFoundHandling,
      redirects,
      headers,
      runFirst: new RunFirst(runWorkerFirst),
      hasScript,
      answersNavigations: answersNavigations(compatibility),
      share,
      warn,
      release,
    });
  } catch (error) {
    release();
    throw error;
  }
}

async function folderOf(directory: string, name: string): Promise<string> {
  try {
    const root = await realpath(directory);
    if (!(await stat(root)).isDirectory()) throw new Error('it is no folder');
    return root;
  } catch (error) {
    throw new EdgeError(
      'EDGE_CONFIG_INVALID',
      `Cannot load function "${name}": its assets are in ${directory}, which cannot be read: ${messageOf(error)}`,
      { cause: error, location: { file: directory } },
    );
  }
}

function answersNavigations({ date, flags }: SiteOptions['compatibility']): boolean {
  return isInForce('assets_navigation_prefers_asset_serving', date, flags);
}
