/** The code of an error that is one of the table; undefined for other errors. Asks for the shape, because errors cross realms. */
export function codeIn<Table extends object>(table: Table, error: unknown): Extract<keyof Table, number> | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  const { code } = error;
  return isCodeOf(table, code) ? code : undefined;
}

/** Whether the code is one of the table. */
export function isCodeOf<Table extends object>(table: Table, code: unknown): code is Extract<keyof Table, number> {
  return typeof code === 'number' && Object.hasOwn(table, code);
}
