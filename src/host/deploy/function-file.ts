/** A function as its configuration file describes it, and the parts of that which a caller can decide. */
import type { LoadOptions } from '../options/options.js';
import type { ModuleRule } from './collect-modules.js';
import type { ScriptSource } from './deployment.js';

/** A function that was read, ready for load(). */
export interface FunctionFile {
  /** Undefined for static files alone. */
  readonly source: ScriptSource | undefined;
  readonly options: LoadOptions;
  /** Remarks for people: keys without an effect, services that do not exist here. */
  readonly notes: readonly string[];
  /** The files that were read besides modules, absolute. */
  readonly inputs: readonly string[];
  /** Migrations of the function's SQL databases, to be applied before it is loaded. */
  readonly migrations: readonly DatabaseMigrations[];
  /** The secrets that the function needs, with or without a value. */
  readonly requiredSecrets: readonly string[];
}

/** The migrations of one database. */
export interface DatabaseMigrations {
  readonly database: string;
  /** In their order. */
  readonly files: readonly { readonly name: string; readonly sql: string }[];
}

/** The files of the modules of a function. */
export interface FunctionFiles {
  /** The folder of the configuration file: names of modules are relative to it. */
  readonly root: string;
  /** The file of the main module. */
  readonly main: string;
  readonly rules: readonly ModuleRule[];
  readonly bundling?: Bundling;
  /** Folders of packages that a bundler looks into last. @default none */
  readonly packageFolders?: readonly string[];
  /** Files that are modules though nothing imports them, absolute. @default none */
  readonly additional?: readonly string[];
}

/** The settings of a bundler. */
export interface Bundling {
  /** `always`: the modules need it. `never`: they are loaded as they are. `when-needed`: TypeScript or packages need it. */
  readonly mode: 'always' | 'when-needed' | 'never';
  readonly define?: Readonly<Record<string, string>>;
  readonly alias?: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly tsconfig?: string;
  readonly jsxFactory?: string;
  readonly jsxFragment?: string;
}

/** A command that writes the main module. */
export interface FileBuild {
  readonly command: string;
  /** The folder that it runs in, absolute. */
  readonly cwd: string;
  /** The folders whose changes are a reason to run it again, absolute. */
  readonly watch: readonly string[];
}

export interface ReadingOptions {
  /** Makes the source of the files. @default the main module, which is JavaScript, and what it imports by relative paths */
  readonly collect?: (files: FunctionFiles) => Promise<ScriptSource>;
  /** The environment of a file of the hosted platform. @default its top level */
  readonly environment?: string | undefined;
  /** Whether `.env` is read, too, and secrets may be missing. @default false */
  readonly isDevelopment?: boolean;
  /** Runs the command of the file. @default it is not run: it is not for a file to run commands */
  readonly build?: (build: FileBuild) => Promise<void>;
}
