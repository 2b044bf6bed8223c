/** The key-value namespaces of accounts whose storage is in the services process. A name is that of the namespace which has it when a call is made. */
import type { KvDirectory, KvEngine, KvFound, KvPage, KvPutOptions, KvQuery } from '../../bindings/kv/engine.js';
import type { ServiceBody } from '../../bindings/service.js';
import type { StoredContent } from '../../bindings/stored/stored-content.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { readingCall, writingCall } from './body-call.js';
import type { KvValue, NamedAddress } from './calls.js';
import { remoteContent } from './remote-content.js';
import type { RemoteLink } from './remote-link.js';

export function remoteNamespaces(link: RemoteLink, account: string): KvDirectory {
  const at = (name: string): NamedAddress => ({ account, name });
  return {
    open: async name => {
      await link.call('kv.open', at(name));
      return new RemoteNamespace(link, at(name));
    },
    find: async name => ((await link.call('kv.exists', at(name))) ? new RemoteNamespace(link, at(name)) : null),
    create: async name => ({ created: await link.call('kv.create', at(name)) }),
    delete: name => link.call('kv.remove', at(name)),
    list: () => link.call('kv.namespaces', account),
  };
}

class RemoteNamespace implements KvEngine {
  readonly name: string;
  readonly #link: RemoteLink;
  readonly #address: NamedAddress;

  constructor(link: RemoteLink, address: NamedAddress) {
    this.name = address.name;
    this.#link = link;
    this.#address = address;
  }

  async get(key: string, work?: CallWork): Promise<KvFound | null> {
    const { result, body } = await readingCall(this.#link, work, 'kv.get', this.#address, key);
    return result === null ? null : { ...result, content: remoteContent(0, result.size, body, work) };
  }

  async getMany(keys: readonly string[], work?: CallWork): Promise<(KvFound | null)[]> {
    work?.charge(HOST_COSTS.callMs);
    const values = await this.#link.call('kv.getMany', this.#address, keys);
    return values.map(value => value && foundOf(value));
  }

  put(key: string, body: ServiceBody, options: KvPutOptions, work?: CallWork): Promise<void> {
    const { signal, ...rest } = options;
    return writingCall(this.#link, body, { work, signal }, 'kv.put', this.#address, key, rest);
  }

  async delete(key: string, work?: CallWork): Promise<void> {
    work?.charge(HOST_COSTS.callMs);
    await this.#link.call('kv.delete', this.#address, key);
  }

  list(query: KvQuery, work?: CallWork): Promise<KvPage> {
    work?.charge(HOST_COSTS.callMs);
    return this.#link.call('kv.list', this.#address, query);
  }
}

function foundOf({ bytes, ...rest }: KvValue): KvFound {
  const content: StoredContent = { offset: 0, length: bytes.length, open: () => bytes, release: () => {} };
  return { ...rest, content };
}
