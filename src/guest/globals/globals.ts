/**
 * The one table of the properties of globalThis beside the language itself, in alphabetical order. Interfaces, namespaces and objects are
 * not enumerable, operations are, as in browsers.
 */

import { Cache, CacheStorage, caches } from '../web/caches.ts';
import { atob, btoa } from '../web/encoding/base64.ts';
import { EventSource } from '../web/event-source/event-source.ts';
import { AbortController, AbortSignal } from '../web/scheduling/abort.ts';
import { fetchClasses, fetchFunctions } from './fetch-globals.ts';
import './console-views.ts';
import '../web/file/blob-clone.ts';
import { DOMException, QuotaExceededError } from '../web/base/dom-exception.ts';
import { console } from '../web/console/console.ts';
import { Crypto, crypto } from '../web/crypto/crypto.ts';
import { CryptoKey } from '../web/crypto/crypto-key.ts';
import { SubtleCrypto } from '../web/crypto/subtle.ts';
import { TextDecoder, TextEncoder } from '../web/encoding/encoding.ts';
import { TextDecoderStream, TextEncoderStream } from '../web/encoding/encoding-streams.ts';
import { reportError } from '../web/events/error-reporting.ts';
import { CustomEvent, ErrorEvent, Event, PromiseRejectionEvent } from '../web/events/event.ts';
import { defineHandler, EventTarget } from '../web/events/event-target.ts';
import { MessageChannel, MessageEvent, MessagePort } from '../web/messaging/messaging.ts';
import { structuredClone } from '../web/messaging/structured-clone.ts';
import { Navigator, navigator } from '../web/navigator.ts';
import { Performance, performance } from '../web/performance/performance.ts';
import { PerformanceEntry, PerformanceMark, PerformanceMeasure } from '../web/performance/performance-entry.ts';
import { PerformanceObserver, PerformanceObserverEntryList } from '../web/performance/performance-observer.ts';
import { Cloudflare, HTMLRewriter } from '../web/platform-names.ts';
import { queueMicrotask } from '../web/scheduling/microtask.ts';
import { Scheduler, scheduler } from '../web/scheduling/scheduler.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../web/scheduling/timers.ts';
import { URL } from '../web/url/url.ts';
import { URLPattern } from '../web/url/url-pattern.ts';
import { URLSearchParams } from '../web/url/url-search-params.ts';

const { addEventListener, dispatchEvent, removeEventListener } = EventTarget.prototype;

const interfaces = {
  AbortController,
  AbortSignal,
  Cache,
  CacheStorage,
  Crypto,
  CryptoKey,
  CustomEvent,
  DOMException,
  ErrorEvent,
  Event,
  EventSource,
  EventTarget,
  HTMLRewriter,
  MessageChannel,
  MessageEvent,
  MessagePort,
  Navigator,
  Performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
  PerformanceObserverEntryList,
  PromiseRejectionEvent,
  QuotaExceededError,
  Scheduler,
  SubtleCrypto,
  TextDecoder,
  TextDecoderStream,
  TextEncoder,
  TextEncoderStream,
  URL,
  URLPattern,
  URLSearchParams,
} as const;

/** Attributes of the global scope; a function may replace them. */
const attributes = {
  Cloudflare,
  caches,
  console,
  crypto,
  navigator,
  /** A function has no origin. @see https://html.spec.whatwg.org/multipage/browsers.html#concept-origin-opaque */
  origin: 'null',
  performance,
  scheduler,
  self: globalThis,
} as const;

const operations = {
  addEventListener,
  atob,
  btoa,
  clearInterval,
  clearTimeout,
  dispatchEvent,
  queueMicrotask,
  removeEventListener,
  reportError,
  setInterval,
  setTimeout,
  structuredClone,
} as const;

const handlers = ['error', 'rejectionhandled', 'unhandledrejection'] as const;

export function installGlobals(): void {
  install(interfaces, false);
  install(fetchClasses, false);
  install(attributes, false);
  install(operations, true);
  install(fetchFunctions, true);
  for (const type of handlers) defineHandler(globalThis, type);
}

function install(table: { readonly [name: string]: unknown }, enumerable: boolean): void {
  for (const name of Object.keys(table)) {
    const value = table[name];
    Object.defineProperty(globalThis, name, { value, writable: true, enumerable, configurable: true });
  }
}
