/** Stored text that a client is asked for as JSON. */

// Captured before function code runs, because it may replace them.
const { parse, stringify } = JSON;
const SyntaxErrorCtor = SyntaxError;

/** @throws SyntaxError that names the key, and the place that it was waited for at */
export function jsonOf(text: string, key: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    // The parser's own error names neither the key nor the place in the function's code.
    const { message } = error as Error; // what the parser throws
    throw new SyntaxErrorCtor(`The value of key ${stringify(key)} is not JSON: ${message}`);
  }
}
