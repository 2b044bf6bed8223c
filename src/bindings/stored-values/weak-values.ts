/** Values by id, for as long as somebody uses them: there is at most one of each id at a time. */
export class WeakValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  readonly #collected = new FinalizationRegistry<string>(id => {
    if (this.#values.get(id)?.deref() === undefined) this.#values.delete(id);
  });

  getOrCreate(id: string, create: () => Value): Value {
    const existing = this.#values.get(id)?.deref();
    if (existing !== undefined) return existing;
    const created = create();
    this.#values.set(id, new WeakRef(created));
    this.#collected.register(created, id);
    return created;
  }
}
