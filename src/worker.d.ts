/**
 * Types for authors of functions: `"types": ["edgehost/worker"]` in the tsconfig.json of the function makes them global. They declare what
 * functions have and nothing else, and need no library beside the language's: `"lib": ["es2023"]`.
 */
/// <reference path="worker/additions.d.ts" />
/// <reference path="worker/hosted-names.d.ts" />
/// <reference path="worker/modules.d.ts" />
/// <reference path="worker/scope.d.ts" />
/// <reference path="worker/standard.d.ts" />
/// <reference path="worker/web.d.ts" />
import './worker/functions.js';
