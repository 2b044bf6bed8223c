/** The operations that the storage of a stateful object and its transactions have in common. */
import {
  MapCtor,
  mapForEach,
  mapSet,
  promiseReject,
  promiseResolve,
  promiseThen,
  TypeErrorCtor,
} from '../../primordials.ts';
import { isObject } from '../../web/base/idl.ts';
import type { ObjectGates } from '../gates.ts';
import { toAlarmTime, toKey, toKeys, toListRange, toOptions, toPairs } from './arguments.ts';
import type { StorageState } from './storage-state.ts';
import { decodeValue, encodeValue } from './values.ts';
import { noChanges } from './write-buffer.ts';

export interface ObjectStorageContext {
  readonly className: string;
  readonly id: string;
  /** The name that the id was made from, where it is known. */
  readonly name?: string | undefined;
  readonly gates: ObjectGates;
  readonly hasAlarmHandler: boolean;
  /** deleteAll() deletes the alarm, too. @default false */
  readonly deletesAlarm?: boolean;
}

/** `check` throws when the receiver may not be used any more. */
export class Operations {
  protected readonly state: StorageState;
  protected readonly context: ObjectStorageContext;

  constructor(state: StorageState, context: ObjectStorageContext) {
    this.state = state;
    this.context = context;
  }

  check(_method: string): void {}

  async get(key: unknown, options: unknown): Promise<unknown> {
    this.check('get');
    const read = toOptions(options);
    const keys = toKeys(key);
    if (keys === undefined) {
      const value = (await this.state.read([toKey(key)], read))[0];
      return value === null || value === undefined ? undefined : decodeValue(value);
    }
    const values = await this.state.read(keys, read);
    const found = new MapCtor<string, unknown>();
    for (let i = 0; i < keys.length; i++) {
      const value = values[i];
      if (value !== null && value !== undefined) mapSet(found, keys[i] ?? '', decodeValue(value));
    }
    return found;
  }

  async list(options: unknown): Promise<Map<string, unknown>> {
    this.check('list');
    const entries = await this.state.list(toListRange(options), toOptions(options));
    const found = new MapCtor<string, unknown>();
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      if (entry !== undefined) mapSet(found, entry[0], decodeValue(entry[1]));
    }
    return found;
  }

  /** Its values can be read at once. */
  put(key: unknown, value: unknown, options: unknown): Promise<void> {
    try {
      this.check('put');
      const changes = noChanges();
      let write = options;
      if (isObject(key)) {
        write = value;
        mapForEach(toPairs(key), (bytes, name) => {
          mapSet(changes.entries, name, bytes);
        });
      } else {
        if (value === undefined) throw new TypeErrorCtor('put() called with undefined value.');
        mapSet(changes.entries, toKey(key), encodeValue(value));
      }
      this.state.write(changes, toOptions(write));
      return this.state.buffer.room();
    } catch (error) {
      return promiseReject(error);
    }
  }

  /** Deletes at once; whether there was something is known later. */
  delete(key: unknown, options: unknown): Promise<unknown> {
    try {
      this.check('delete');
      const several = toKeys(key);
      const keys = several ?? [toKey(key)];
      const given = toOptions(options);
      const existed = this.state.read(keys, given, true);
      const changes = noChanges();
      for (let i = 0; i < keys.length; i++) mapSet(changes.entries, keys[i] ?? '', undefined);
      this.state.write(changes, given);
      return promiseThen(existed, values => {
        let count = 0;
        for (let i = 0; i < values.length; i++) if (values[i] !== null) count++;
        return several === undefined ? count > 0 : count;
      });
    } catch (error) {
      return promiseReject(error);
    }
  }

  async getAlarm(options: unknown): Promise<number | null> {
    this.check('getAlarm');
    return this.state.getAlarm(toOptions(options));
  }

  setAlarm(time: unknown, options: unknown): Promise<void> {
    try {
      this.check('setAlarm');
      const alarm = toAlarmTime(time);
      if (!this.context.hasAlarmHandler) {
        throw new TypeErrorCtor('Your Durable Object class must have an alarm() handler in order to call setAlarm()');
      }
      this.state.write({ ...noChanges(), alarm }, toOptions(options));
      return promiseResolve(undefined);
    } catch (error) {
      return promiseReject(error);
    }
  }

  deleteAlarm(options: unknown): Promise<void> {
    try {
      this.check('deleteAlarm');
      this.state.write({ ...noChanges(), alarm: null }, toOptions(options));
      return promiseResolve(undefined);
    } catch (error) {
      return promiseReject(error);
    }
  }
}
