/** The objects that are live in this isolate, by class and id: made by their first event, forgotten when they were idle for long or were reset. */
import { Op } from '../../isolate/ops/table.ts';
import { opNumber } from '../bridge.ts';
import { theEnv } from '../env/env.ts';
import {
  arrayIndexOf,
  construct,
  MapCtor,
  mapDelete,
  mapForEach,
  mapGet,
  mapSet,
  TypeErrorCtor,
} from '../primordials.ts';
import { StatefulObject } from '../rpc/entrypoint.ts';
import { isOf, mainExport } from '../rpc/serve.ts';
import { isCallable, isObject } from '../web/base/idl.ts';
import { setHeldByHost } from './gates.ts';
import { GuestLiveObject } from './live-object.ts';
import { createState } from './object-state.ts';
import { ObjectTimers } from './object-timers.ts';
import { GuestObjectSockets } from './sockets/object-sockets.ts';
import { createObjectStorage } from './storage/object-storage.ts';

const live = new MapCtor<string, GuestLiveObject>();
/** Objects without an event for this long are forgotten by the next sweep, within twice this time. */
let idleMs = 70_000;
let sweptMs = 0;

let deletesAlarm = false;

/** @param flags the compatibility flags of the function, including the flags of its date */
export function configureObjects(ms: number | undefined, flags: readonly string[], isHeldByHost: boolean): void {
  setHeldByHost(isHeldByHost);
  if (ms !== undefined) idleMs = ms;
  deletesAlarm = arrayIndexOf(flags, 'delete_all_deletes_alarm') >= 0;
}

/**
 * The live instance, which is constructed when it is missing: `hasSockets` says that it knows the sockets that an earlier instance accepted for hibernation,
 * before any event. `adopt` gets it before its constructor runs.
 * @throws what its constructor throws, TypeError when there is no such class
 */
export function instanceOf(
  className: string,
  id: string,
  name: string | undefined,
  hasSockets: boolean,
  adopt: (object: GuestLiveObject) => void,
): GuestLiveObject {
  const nowMs = opNumber(Op.Now);
  if (nowMs - sweptMs >= idleMs) sweep(nowMs);
  const key = `${className}/${id}`;
  let object = mapGet(live, key);
  if (object === undefined) {
    object = createObject(key, className, id, name, hasSockets, adopt);
  } else adopt(object);
  object.lastUsedMs = nowMs;
  return object;
}

/** The live instance, if there is one. It does not count as an event. */
export function liveInstance(className: string, id: string): GuestLiveObject | undefined {
  return mapGet(live, `${className}/${id}`);
}

/** The timers of an object, which are made with the first of them. */
export function timersOf(object: GuestLiveObject): ObjectTimers {
  const { className, id } = object;
  object.timers ??= new ObjectTimers({ className, id, isLeft: () => object.isLeftFor(idleMs) });
  return object.timers;
}

function createObject(
  key: string,
  className: string,
  id: string,
  name: string | undefined,
  hasSockets: boolean,
  adopt: (object: GuestLiveObject) => void,
): GuestLiveObject {
  const exported = mainExport(className);
  if (!isClass(exported)) throw new TypeErrorCtor(`The export "${className}" is no class`);
  const object = new GuestLiveObject(className, id, name, broken => {
    if (mapGet(live, key) === broken) mapDelete(live, key);
  });
  const state = createState({ object, name, createStorage: () => storageOf(object, exported) });
  mapSet(live, key, object);
  adopt(object);
  if (hasSockets) void constructLater(object, exported, state, name);
  else constructNow(object, exported, state);
  return object;
}

function constructNow(object: GuestLiveObject, exported: ObjectClass, state: object): void {
  try {
    object.instance = construct(exported, [state, theEnv()]);
  } catch (error) {
    object.reset(error);
  }
}

/** Its events wait meanwhile. */
async function constructLater(
  object: GuestLiveObject,
  exported: ObjectClass,
  state: object,
  name: string | undefined,
): Promise<void> {
  const open = object.gates.closeInput();
  const sockets = new GuestObjectSockets(object, name);
  object.sockets = sockets;
  try {
    await sockets.load();
  } catch (error) {
    object.reset(error);
  }
  if (object.broken === undefined) constructNow(object, exported, state);
  open();
}

type ObjectClass = (new (context: unknown, env: unknown) => object) & { prototype: object };

function storageOf(
  { className, id, name, gates }: GuestLiveObject,
  { prototype }: { readonly prototype: object },
): object {
  const hasAlarmHandler = isCallable((prototype as { readonly alarm?: unknown }).alarm); // every object can be read from
  return createObjectStorage({ className, id, name, gates, hasAlarmHandler, deletesAlarm });
}

function isClass(value: unknown): value is ObjectClass {
  return typeof value === 'function' && isCallable(value) && isObject(value.prototype);
}

/** Whether methods of the object may be called. */
export function takesCalls(instance: object): boolean {
  return isOf(instance, StatefulObject.prototype);
}

function sweep(nowMs: number): void {
  sweptMs = nowMs;
  mapForEach(live, (object, key) => {
    if (!object.isIdle || nowMs - object.lastUsedMs < idleMs) return;
    mapDelete(live, key);
    object.timers?.clear();
  });
}
