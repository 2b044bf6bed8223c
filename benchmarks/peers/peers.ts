/** The peers that are measured with `--peers`. */
import { edgeRuntime } from './edge-runtime.js';
import { isolatedVm } from './isolated-vm.js';
import { miniflare } from './miniflare.js';
import type { Peer } from './peer.js';

export const PEERS: readonly Peer[] = [miniflare, isolatedVm, edgeRuntime];
