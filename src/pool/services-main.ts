/** The main program of the services process, with the walls around the processes that it starts itself. */
import { serveDirectory } from '../services/serve-directory.js';
import { EngineWalls } from './engine/engine-walls.js';
import type { SandboxOption } from './sandbox/sandbox.js';

// The applications warn of missing layers, which their cells lack too.
const walls = new EngineWalls(undefined, () => {});
await serveDirectory(walls, options => {
  const { sandbox } = options as { readonly sandbox?: SandboxOption }; // those of a host, which has checked them
  if (sandbox !== undefined) walls.use(sandbox);
});
