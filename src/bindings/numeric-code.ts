/** An error of a binding that has a table of numeric codes. Decide by `code`. */
export class NumericError<Code extends number> extends Error {
  /** Not enumerable. */
  declare readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    Object.defineProperty(this, 'code', { value: code, configurable: true });
  }
}

/** The HTTP status of an error that is one of the table; undefined for other errors. */
export function statusIn<Table extends Readonly<Record<number, { readonly status: number }>>>(
  table: Table,
  error: unknown,
): number | undefined {
  const code = codeIn(table, error);
  return code === undefined ? undefined : table[code]?.status;
}

/** The code of an error that is one of the table; undefined for other errors. Asks for the shape, because errors cross realms. */
export function codeIn<Table extends object>(table: Table, error: unknown): Extract<keyof Table, number> | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  const { code } = error;
  return isCodeOf(table, code) ? code : undefined;
}

/** Whether the code is one of the table. */
function isCodeOf<Table extends object>(table: Table, code: unknown): code is Extract<keyof Table, number> {
  return typeof code === 'number' && Object.hasOwn(table, code);
}

/**
 * Returns a function that restores an error that has crossed to another process: an instance of its class with the same message. It returns undefined for
 * a code that is not in the table.
 */
export function errorRestorer<Table extends object>(
  table: Table,
  create: (code: Extract<keyof Table, number>) => Error,
): (code: string | number, message: string) => Error | undefined {
  return (code, message) => {
    if (!isCodeOf(table, code)) return undefined;
    const error = create(code);
    error.message = message;
    return error;
  };
}
