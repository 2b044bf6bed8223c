/**
 * The key that secrets are sealed with: the owner's option, else a random one in a file of the storage directory. Opening seals secrets that an earlier release
 * stored in the clear. When the owner has given a key, it seals secrets again that were sealed with the file's key. It can be killed at any point: the key is
 * on disk before anything is sealed with it, each record is replaced in one write, and the next opening completes the rest.
 */

import { EdgeError } from '../../quotas/errors.js';
import type { KeyStore } from '../../storage/files/key-file.js';
import { commit, type ManagementStorage, type RecordChange } from './records.js';
import { fingerprint, isPlain, openWith, type SecretCipher, sealWith } from './secret-cipher.js';
import type { SecretRecord, SecretsKeyRecord, Stores } from './stores.js';

/** The number of records that are rewritten in one batch. */
const BATCH = 100;
const STATE = 'secrets-key';

export interface SecretsKeyOptions {
  readonly stores: Stores;
  readonly cipher: SecretCipher;
  /** The owner's key; without it, the key in the file is used. */
  readonly given: Uint8Array | undefined;
  readonly keyStore: KeyStore;
  readonly onWarning: (error: Error) => void;
}

const openings = new WeakMap<ManagementStorage, Promise<void>>();

/**
 * Finds the key and has everything sealed with it. Where the key that secrets were sealed with is missing, nothing is changed: `onWarning`
 * is called, and everything that needs a secret fails with EDGE_SECRETS_KEY until the key is back.
 */
export function openSecrets(options: SecretsKeyOptions): Promise<void> {
  // One after the other: two openings that rewrite records could overwrite a change that a caller made in between.
  const before = openings.get(options.stores.storage) ?? Promise.resolve();
  const opening = before.catch(() => {}).then(() => open(options));
  openings.set(options.stores.storage, opening);
  return opening;
}

async function open({ stores, cipher, given, keyStore, onWarning }: SecretsKeyOptions): Promise<void> {
  const state = (await stores.settings.get(STATE))?.value;
  const found = await keyStore.read();
  const filed = found instanceof Uint8Array ? found : undefined;
  const known = given ?? filed;
  if (known !== undefined && state?.isSealed === true && state.fingerprint === fingerprint(known)) {
    cipher.use(known);
    return;
  }
  const keys = [given, filed].filter(key => key !== undefined);
  const { opened, unopened } = await survey(stores, keys);
  if (unopened > 0 && opened === 0) {
    const error = keyError({ state, found, given, path: keyStore.path, unopened });
    cipher.use(error);
    onWarning(error);
    return;
  }
  if (unopened > 0) {
    onWarning(
      new EdgeError(
        'EDGE_SECRETS_KEY',
        `${unopened} stored secrets cannot be opened: they were sealed with another key`,
      ),
    );
  }
  const key = known ?? (await keyStore.create());
  const record: SecretsKeyRecord = {
    fingerprint: fingerprint(key),
    source: given === undefined ? 'file' : 'option',
    isSealed: false,
  };
  await commit(stores.storage, [stores.settings.put([STATE], record).operation]);
  await sealAll(stores, keys, key);
  await commit(stores.storage, [stores.settings.put([STATE], { ...record, isSealed: true }).operation]);
  cipher.use(key);
}

/** How many of the sealed secrets the keys open. */
async function survey(
  stores: Stores,
  keys: readonly Uint8Array[],
): Promise<{ readonly opened: number; readonly unopened: number }> {
  let opened = 0;
  let unopened = 0;
  for await (const [place, { sealed }] of stores.secrets.entries()) {
    if (isPlain(sealed)) continue;
    if (keys.some(key => openWith(key, sealed, place) !== undefined)) opened++;
    else unopened++;
  }
  return { opened, unopened };
}

async function sealAll(stores: Stores, keys: readonly Uint8Array[], key: Uint8Array): Promise<void> {
  let operations: RecordChange[] = [];
  let isAnyPlain = false;
  for await (const [place, record] of stores.secrets.entries()) {
    const { sealed } = record;
    if (!isPlain(sealed) && openWith(key, sealed, place) !== undefined) continue;
    isAnyPlain ||= isPlain(sealed);
    const text = [key, ...keys].map(each => openWith(each, sealed, place)).find(each => each !== undefined);
    if (text === undefined) continue;
    const next: SecretRecord = { ...record, sealed: sealWith(key, text, place) };
    operations.push(stores.secrets.put(place.split('/'), next).operation);
    if (operations.length < BATCH) continue;
    await commit(stores.storage, operations);
    operations = [];
  }
  if (operations.length > 0) await commit(stores.storage, operations);
  if (isAnyPlain) await stores.secrets.compact();
}

function keyError({
  state,
  found,
  given,
  path,
  unopened,
}: {
  readonly state: SecretsKeyRecord | undefined;
  readonly found: Uint8Array | 'missing' | 'damaged';
  readonly given: Uint8Array | undefined;
  readonly path: string | undefined;
  readonly unopened: number;
}): EdgeError {
  const file = path === undefined ? 'the key in memory' : `the file ${path}`;
  let why: string;
  if (given !== undefined) why = 'the option secretsKey is not the key that they were sealed with; give that one';
  else if (state?.source !== 'file') why = 'they were sealed with the option secretsKey, which is not given; give it';
  else if (found === 'missing') why = `${file} has their key and is missing; bring it back from a backup`;
  else if (found === 'damaged') why = `${file} has their key and is damaged; bring it back from a backup`;
  else why = `${file} holds another key than they were sealed with; bring that back from a backup`;
  return new EdgeError('EDGE_SECRETS_KEY', `Cannot open the ${unopened} stored secrets of functions: ${why}`);
}
