/** The same chunks; `end` is called when they end, fail, or are given up. */
export function withEnd(chunks: AsyncIterable<Uint8Array>, end: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = chunks[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const result = await iterator.next();
            if (result.done) end();
            return result;
          } catch (error) {
            end();
            throw error;
          }
        },
        async return() {
          end();
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
