// The address of a module that bundle-host.mjs has put into a bundle: by its path beside the folder of the bundles. Not in one expression, which bundlers of
// applications would take for the address of a file that they have to bring along.
const { url } = import.meta;
export const ownPlace = path => new URL(path, url).href;
