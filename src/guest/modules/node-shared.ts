/**
 * The parts of this bundle that the bundle of Node's modules uses. Its imports from here say which parts these are: the build writes this function
 * (.scripts/node-bundle.mjs).
 */
export function sharedWithNode(): object {
  throw new Error('The build replaces this file');
}
