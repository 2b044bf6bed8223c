/** The library has no types of its own. */
declare module '@pkgjs/parseargs' {
  export function parseArgs(config: object): object;
}
