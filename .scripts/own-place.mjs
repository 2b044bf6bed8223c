// The address of a module that bundle-host.mjs has put into a bundle: by its path beside the folder of the bundles. In one expression, bundlers of
// applications would take it for the address of a file that they have to bring along.
const { url } = import.meta;
export const ownPlace = path => new URL(path, url).href;
