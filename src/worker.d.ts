/**
 * Types for authors of functions: `"types": ["edgehost/worker"]` in the tsconfig.json of the function makes them global. They declare what
 * functions have and nothing else, and need no library beside the language's: `"lib": ["es2023"]`.
 */
/// <reference path="worker/crypto.d.ts" />
/// <reference path="worker/events.d.ts" />
/// <reference path="worker/fetch.d.ts" />
/// <reference path="worker/messaging.d.ts" />
/// <reference path="worker/modules.d.ts" />
/// <reference path="worker/performance.d.ts" />
/// <reference path="worker/scope.d.ts" />
/// <reference path="worker/streams.d.ts" />
/// <reference path="worker/url.d.ts" />
import './worker/functions.js';
