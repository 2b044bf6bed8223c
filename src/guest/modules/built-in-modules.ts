/** The values of the built-in modules, made when a function imports them: beside the table of their names. */
import type { BuiltInExports, BuiltInName } from '../../isolate/imports/built-in-modules.ts';
import { stringSlice, stringStartsWith } from '../primordials.ts';
import { connect } from '../sockets/socket.ts';
import { EmailMessage, NonRetryableError } from './missing-services.ts';
import { nodeModule } from './node-modules.ts';
import { workersModule } from './workers.ts';

const MODULES: { readonly [Name in BuiltInName]: () => BuiltInExports<Name> } = {
  'edgehost:workers': workersModule,
  'edgehost:sockets': () => ({ connect }),
  'cloudflare:email': () => ({ EmailMessage }),
  'cloudflare:workflows': () => ({ NonRetryableError }),
  'edgehost:node': serverModule,
};

/** The object from which the text of a built-in module takes its exports. The host realm writes that text, and its own names into it. */
export function builtIn(name: BuiltInName | `node:${string}`): unknown {
  if (isNode(name)) return nodeModule(stringSlice(name, NODE.length));
  return MODULES[name]();
}

const NODE = 'node:';

function isNode(name: string): name is `node:${string}` {
  return stringStartsWith(name, NODE);
}

type AnyFunction = (...args: unknown[]) => unknown;

/** The servers of node:http, which are evaluated when one of their functions is called. */
function serverModule(): BuiltInExports<'edgehost:node'> {
  const call =
    (name: string): AnyFunction =>
    (...args) =>
      (nodeModule('edgehost:node') as Record<string, AnyFunction>)[name]?.(...args); // it has these functions
  return { handleAsNodeRequest: call('handleAsNodeRequest'), httpServerHandler: call('httpServerHandler') };
}
