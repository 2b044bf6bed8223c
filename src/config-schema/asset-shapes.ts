/** The table `assets` of configuration files: the option of load() in snake case. */
import { resolve } from 'node:path';
import { ASSET_FIELDS, type AssetsOptions } from '../bindings/assets/asset-options.js';
import { object, type Static } from '../quotas/schema/schema.js';

export const WRITTEN_ASSETS = object({
  directory: ASSET_FIELDS.directory,
  'binding?': ASSET_FIELDS.binding,
  'html_handling?': ASSET_FIELDS.htmlHandling,
  'not_found_handling?': ASSET_FIELDS.notFoundHandling,
  'run_worker_first?': ASSET_FIELDS.runWorkerFirst,
  'hidden_files?': ASSET_FIELDS.hiddenFiles,
});

export type WrittenAssets = Static<typeof WRITTEN_ASSETS>;

/** @param root the folder of the file, which the path of the directory is relative to */
export function assetsOf(written: WrittenAssets, root: string): AssetsOptions {
  const {
    directory,
    html_handling: htmlHandling,
    not_found_handling: notFoundHandling,
    run_worker_first: runWorkerFirst,
    hidden_files: hiddenFiles,
    ...rest
  } = written;
  return {
    ...rest,
    directory: resolve(root, directory),
    ...(htmlHandling !== undefined && { htmlHandling }),
    ...(notFoundHandling !== undefined && { notFoundHandling }),
    ...(runWorkerFirst !== undefined && { runWorkerFirst }),
    ...(hiddenFiles !== undefined && { hiddenFiles }),
  };
}
