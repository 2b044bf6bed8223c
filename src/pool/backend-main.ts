/** The main program of the backend process, with the walls around the processes that it starts itself. */

import { Notices } from '../backend/server/notices.js';
import { serveDirectory } from '../backend/server/serve-directory.js';
import { EngineWalls } from './sandbox/engine-walls.js';
import type { SandboxOption } from './sandbox/sandbox.js';

const notices = new Notices();
// The applications warn of missing layers: each of them, once, also those that come later.
const walls = new EngineWalls(undefined, () => {}, notices.setSqlSandbox);
const onOptions = (options: unknown): void => {
  const { sandbox } = options as { readonly sandbox?: SandboxOption }; // these are options of a host, which has checked them
  if (sandbox !== undefined) walls.use(sandbox);
};
await serveDirectory({ walls, onOptions, notices });
