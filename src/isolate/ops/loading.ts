/** Ops of the loader: the guest's reports of its start, and what it requests while it runs. */

import { HANDLERS, HAS_OBJECTS, type ScriptFailure } from '../../protocol/messages.js';
import { hintAboutMissing } from '../imports/missing-module.js';
import type { ModuleGraph } from '../modules.js';
import { checkedInteger, checkedText, OpError, optionalText } from './arguments.js';
import type { OpContext, OpSet } from './op-set.js';
import { Op } from './table.js';

export interface LoadingOwner {
  readonly context: Pick<OpContext, 'leaveBytes' | 'currentInvocation'>;
  loaded(handlers: readonly string[]): void;
  failed(failure: ScriptFailure): void;
  modules(): ModuleGraph | undefined;
  /** import() has been called; `work` settles when the module has been evaluated as far as it goes at once. Never rejects. */
  importing(work: Promise<void>): void;
}

const MAX_TEXT = 64 * 1024;
let nextImport = 1;

export function loadingOps(owner: LoadingOwner): OpSet {
  return {
    [Op.Loaded]: kinds => {
      owner.loaded(
        checkedText(kinds, MAX_TEXT)
          .split(',')
          .filter(kind => kind === HAS_OBJECTS || HANDLERS.includes(kind)),
      );
      return undefined;
    },
    [Op.LoadFailed]: text => {
      owner.failed(parseFailure(checkedText(text, MAX_TEXT * 4)));
      return undefined;
    },
    [Op.ModuleBytes]: index => {
      const bytes = owner.modules()?.bytesOf(checkedInteger(index, 0, 0xffff));
      if (bytes === undefined) throw new OpError('Error', 'There is no such module');
      return owner.context.leaveBytes(bytes);
    },
    [Op.ModuleNames]: () => JSON.stringify(owner.modules()?.sizes() ?? []),
    [Op.RunHint]: () => owner.modules()?.hintOfRun,
    [Op.CurrentInvocation]: () => owner.context.currentInvocation(),
    [Op.Import]: (referrer, specifier, importType) => {
      const from = checkedText(referrer, MAX_TEXT);
      const wanted = checkedText(specifier, MAX_TEXT);
      const type = optionalText(importType, MAX_TEXT);
      const attributes = type === undefined ? {} : { type };
      const modules = owner.modules();
      const name = wanted === '' ? modules?.mainOfRun : modules?.find(wanted, from);
      if (modules === undefined || name === undefined) {
        const hint = modules === undefined ? '' : hintAboutMissing(wanted, modules);
        throw new OpError('TypeError', `import("${wanted}"): it is not among the modules of the deployment${hint}`);
      }
      const mistake = modules.attributeMistake(name, attributes);
      if (mistake !== undefined) throw new OpError('TypeError', `import("${wanted}"): it is imported ${mistake}`);
      const id = nextImport++;
      const invocation = owner.context.currentInvocation();
      owner.importing(
        modules
          .import(name, attributes, id, invocation)
          .catch((error: unknown) => modules.reportFailure(invocation, id, error)),
      );
      return id;
    },
  };
}

/** The guest wrote it, perhaps after function code ran: every field is checked. */
function parseFailure(text: string): ScriptFailure {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const field = (name: string): string => {
    const found = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    return typeof found === 'string' ? found.slice(0, MAX_TEXT) : '';
  };
  return {
    code: field('code') === 'EDGE_SCRIPT_NO_HANDLER' ? 'EDGE_SCRIPT_NO_HANDLER' : 'EDGE_SCRIPT_THREW',
    name: field('name') || 'Error',
    message: field('message'),
    stack: field('stack'),
  };
}
