/** Reading a range in pages while it is being written to. */

interface PageIterator<Item> {
  nextv(size: number): Promise<Item[]>;
  close(): Promise<void>;
}

/**
 * Pages of up to `size` items from the key `from` on. Each page has an iterator of its own, because a write between two pages may open the database again.
 *
 * @param open an iterator from the key on, which may be the last one
 */
export async function* freshPages<Item>(
  from: string,
  size: number,
  open: (gte: string) => Promise<PageIterator<Item>>,
  keyOf: (item: Item) => string,
): AsyncGenerator<Item[], void> {
  for (let gte = from; ; ) {
    const iterator = await open(gte);
    let page: Item[];
    try {
      page = await iterator.nextv(size);
    } finally {
      await iterator.close();
    }
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    gte = `${keyOf(last)}\0`;
  }
}
