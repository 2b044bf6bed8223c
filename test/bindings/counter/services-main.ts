/** The backend process of a package that has counters. */
import { REGISTRY } from '../../../src/bindings/registry.js';
import { EngineWalls } from '../../../src/pool/sandbox/engine-walls.js';
import { serveDirectory } from '../../../src/services/serve-directory.js';
import { Notices } from '../../../src/services/server/notices.js';
import { counterBinding } from './counter-binding.js';

const walls = new EngineWalls(undefined, () => {});
await serveDirectory({ walls, onOptions: () => {}, notices: new Notices(), registry: REGISTRY.with([counterBinding]) });
