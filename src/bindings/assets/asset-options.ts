/** The static files of a function, as the option `assets` of load() names them. */
import { BINDING_NAME } from '../../quotas/binding-name.js';
import {
  choice,
  type FieldsOf,
  flag,
  list,
  objectOf,
  refined,
  type Schema,
  text,
  union,
} from '../../quotas/schema/schema.js';

const HTML_HANDLING = ['auto-trailing-slash', 'force-trailing-slash', 'drop-trailing-slash', 'none'] as const;
const NOT_FOUND_HANDLING = ['none', '404-page', 'single-page-application'] as const;

/** Which URL of a page is the one that answers; the others redirect to it with 307. */
export type HtmlHandling = (typeof HTML_HANDLING)[number];
/** The answer to a path without a file. */
export type NotFoundHandling = (typeof NOT_FOUND_HANDLING)[number];

/** Static files that are served before the function. */
export interface AssetsOptions {
  /** The folder of the files: absolute, or relative to the working directory of the process. In a file, relative to the folder of the file. */
  readonly directory: string;
  /** The name in `env` of an object whose `fetch()` answers from the files. A function without a script cannot have it. @default none */
  readonly binding?: string;
  /**
   * Whether the URL of a page ends with a slash: as its file does (`/about` for about.html, `/blog/` for blog/index.html), always, or never. With 'none',
   * a file answers under its exact path alone. @default 'auto-trailing-slash'
   */
  readonly htmlHandling?: HtmlHandling;
  /**
   * The answer to a path without a file: 404 without a body, the nearest `404.html`, or `/index.html` with status 200. With a script, the function answers such
   * a request; only navigations of browsers get one of the two pages, unless a flag or an older compatibility date says otherwise. @default 'none'
   */
  readonly notFoundHandling?: NotFoundHandling;
  /**
   * `true`: the function answers every request, and reaches files by the binding. Patterns such as `/api/*` name the paths that it answers; `!/api/docs/*`
   * are exceptions, which go to the files. 1 to 100 patterns of up to 100 characters. @default false
   */
  readonly runWorkerFirst?: boolean | readonly string[];
  /** Serve files and folders whose names begin with a dot. `.well-known` is always served. @default false */
  readonly hiddenFiles?: boolean;
}

const MAX_PATTERNS = 100;
const MAX_PATTERN_LENGTH = 100;

/** @returns the defect of a list of patterns */
function whyNotPatterns(patterns: readonly string[]): string | undefined {
  for (const [index, pattern] of patterns.entries()) {
    if (!/^!?\//.test(pattern)) return `${JSON.stringify(pattern)} begins with neither "/" nor "!/"`;
    if (pattern.length > MAX_PATTERN_LENGTH)
      return `${JSON.stringify(pattern)} is longer than ${MAX_PATTERN_LENGTH} characters`;
    if (patterns.indexOf(pattern) !== index) return `${JSON.stringify(pattern)} is there twice`;
  }
  return patterns.every(pattern => pattern.startsWith('!')) ? 'it has exceptions alone' : undefined;
}

const PATTERNS: Schema<readonly string[]> = refined(
  list(text({ minLength: 1 }), { minItems: 1, maxItems: MAX_PATTERNS }),
  whyNotPatterns,
);

/** The fields by their types. Files write the names in snake case. */
export const ASSET_FIELDS = {
  directory: text({ minLength: 1, maxLength: 4096, description: 'the path of a folder' }),
  binding: BINDING_NAME,
  htmlHandling: choice(HTML_HANDLING),
  notFoundHandling: choice(NOT_FOUND_HANDLING),
  runWorkerFirst: union([flag(), PATTERNS], { description: 'true, false, or a list of patterns such as "/api/*"' }),
  hiddenFiles: flag(),
};

const FIELDS: FieldsOf<AssetsOptions> = {
  directory: ASSET_FIELDS.directory,
  'binding?': ASSET_FIELDS.binding,
  'htmlHandling?': ASSET_FIELDS.htmlHandling,
  'notFoundHandling?': ASSET_FIELDS.notFoundHandling,
  'runWorkerFirst?': ASSET_FIELDS.runWorkerFirst,
  'hiddenFiles?': ASSET_FIELDS.hiddenFiles,
};

export const ASSETS: Schema<string | AssetsOptions> = union([ASSET_FIELDS.directory, objectOf<AssetsOptions>(FIELDS)], {
  description: 'the path of a folder, or { directory, binding, htmlHandling, notFoundHandling, runWorkerFirst }',
});
