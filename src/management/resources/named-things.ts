/** The routes that list, show, make and delete the things that an account gives names to: its buckets, namespaces and databases. */
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type ListReply, type OneReply } from '../http/envelope.js';
import type { DELETED, NamedSchema } from '../schemas.js';
import { pageOf } from '../state/records.js';

interface Directory<Info> {
  list(): Promise<readonly Info[]>;
  delete(name: string): Promise<void>;
}

interface Terms<Info, Shown, Found extends Directory<Info>> {
  /** The word for one of them, in messages. */
  readonly noun: string;
  /** The parameter of the path that has the name. */
  readonly parameter: string;
  directoryOf(context: Context): Found;
  shown(info: Info): Shown;
}

export function namedThings<Info extends { readonly name: string }, Shown, Found extends Directory<Info>>(
  terms: Terms<Info, Shown, Found>,
) {
  type One = OneReply<NamedSchema<Shown>>;
  const { noun, parameter, directoryOf, shown } = terms;

  const unknown = (name: string): ApiError => new ApiError('NOT_FOUND', `There is no ${noun} ${JSON.stringify(name)}`);

  const find = async (context: Context, name: string): Promise<Info> => {
    const info = (await directoryOf(context).list()).find(one => one.name === name);
    if (info === undefined) throw unknown(name);
    return info;
  };

  return {
    unknown,
    async list(context: Context): Promise<ListReply<NamedSchema<Shown>>> {
      const { items, info } = await pageOf(await directoryOf(context).list(), pageQuery(context));
      return { result: items.map(shown), resultInfo: info };
    },
    async get(context: Context): Promise<One> {
      return { result: shown(await find(context, param(context, parameter))) };
    },
    /** @param make creates it in the directory, unless it is there */
    async create(
      context: Context,
      name: string,
      make: (directory: Found) => Promise<{ readonly created: boolean }>,
    ): Promise<One> {
      const { created } = await make(directoryOf(context));
      if (!created) throw new ApiError('ALREADY_EXISTS', `The ${noun} ${JSON.stringify(name)} exists already`);
      await context.commit([]);
      return { result: shown(await find(context, name)) };
    },
    async delete(context: Context): Promise<OneReply<typeof DELETED>> {
      const name = param(context, parameter);
      await directoryOf(context).delete(name);
      await context.commit([]);
      return { result: { id: name } };
    },
  };
}
