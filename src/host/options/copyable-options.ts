/** The options that rows may read in another process: those that can be copied. */
export function copyableOptions(options: object): object {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => {
      try {
        structuredClone(value);
        return true;
      } catch {
        return false;
      }
    }),
  );
}
