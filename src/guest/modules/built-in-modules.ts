/** The values of the built-in modules, made when a function imports them: beside the table of their names. */
import type { BuiltInExports, BuiltInName } from '../../isolate/imports/built-in-modules.ts';
import { connect } from '../sockets/socket.ts';
import { workersModule } from './workers.ts';

const MODULES: { readonly [Name in BuiltInName]: () => BuiltInExports<Name> } = {
  'edgehost:workers': workersModule,
  'edgehost:sockets': () => ({ connect }),
};

/** The object from which the text of a built-in module takes its exports. The host realm writes that text, and its own names into it. */
export function builtIn(name: BuiltInName): object {
  return MODULES[name]();
}
