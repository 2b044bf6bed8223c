/** The backend process of a package that has counters. */

import { Notices } from '../../../src/backend/server/notices.js';
import { serveDirectory } from '../../../src/backend/server/serve-directory.js';
import { REGISTRY } from '../../../src/bindings/registry.js';
import { EngineWalls } from '../../../src/pool/sandbox/engine-walls.js';
import { counterBinding } from './counter-binding.js';

const walls = new EngineWalls(undefined, () => {});
await serveDirectory({ walls, onOptions: () => {}, notices: new Notices(), registry: REGISTRY.with([counterBinding]) });
