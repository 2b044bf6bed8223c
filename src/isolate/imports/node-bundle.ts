/** Node's modules in a realm. Their bundle is read when a thread first needs it, and evaluated once in each realm that does. */
import vm from 'node:vm';
import { callGuest, type GuestFunction } from '../bridge.js';
import { nodeBundleUrl, type Realm, readAscii } from '../realm.js';
import { nodeModuleSource } from './node-modules.js';

interface NodeBundle {
  readonly script: vm.Script;
  /** By name of a module, the names of its exports. */
  readonly exports: Readonly<Record<string, string>>;
}

/** Its compiled code is shared by all realms of the thread. */
let bundle: NodeBundle | undefined;

function loadBundle(): NodeBundle {
  const text = readAscii(nodeBundleUrl);
  // The first line is a comment with the names (.scripts/guest-bundle.mjs).
  const names = text.slice('//'.length, text.indexOf('\n'));
  return { script: new vm.Script(text, { filename: 'edgehost:guest' }), exports: JSON.parse(names) };
}

export class NodeModules {
  readonly #realm: Realm;
  #isInstalled = false;

  constructor(realm: Realm) {
    this.#realm = realm;
  }

  get isInstalled(): boolean {
    return this.#isInstalled;
  }

  /** Evaluates the bundle. In a turn, unless no function code has run in the realm: it may have replaced what the bundle calls. */
  install(): void {
    if (this.#isInstalled) return;
    this.#isInstalled = true;
    bundle ??= loadBundle();
    let install: GuestFunction;
    try {
      install = bundle.script.runInContext(this.#realm.context, { displayErrors: false });
    } catch {
      // A guest value, which is not looked at. The modules then fail when they are imported.
      return;
    }
    callGuest(this.#realm.adoptNode, [install]);
  }

  /** The text of the module that stands for one of Node's. */
  source(name: string, loader: string): string {
    const names = bundle?.exports[name] ?? '';
    return nodeModuleSource(name, names === '' ? [] : names.split(','), loader);
  }
}
