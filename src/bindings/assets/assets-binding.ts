/** A function's own static files as a binding: `load(source, { assets: { directory: 'dist', binding: 'ASSETS' } })`. The host serves them. */
import { EdgeError } from '../../quotas/errors.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { NamedBinding } from '../binding.js';
import { FETCH } from '../function/wire.js';
import { ASSETS, type AssetsOptions } from './asset-options.js';

const KIB = 1024;

export const assetsBinding: NamedBinding<string | AssetsOptions> = {
  id: ServiceId.Assets,
  // The files are served where requests arrive.
  isInApplication: () => true,
  name: 'assets',
  subrequest: 'service',
  // A URL of 16 KB and 128 KB of headers, as JSON.
  methods: { [FETCH]: { headBytes: 256 * KIB } },
  option: 'assets',
  isSingle: true,
  schema: ASSETS,
  open({ fetchAsset }) {
    return async call => {
      if (fetchAsset === undefined) throw new EdgeError('EDGE_NOT_SUPPORTED', 'Assets cannot be fetched here');
      if (call.method !== FETCH) {
        throw new EdgeError('EDGE_NOT_SUPPORTED', `Cannot call ${call.method}: assets have no such method`);
      }
      return fetchAsset(call);
    };
  },
};
