/** The start of a function: its configuration comes in, its code is evaluated, its handlers are found. */

import { OUTBOUND } from '../bindings/loader/wire.ts';
import { Ev, Op } from '../isolate/ops/table.ts';
import type { NeededExport } from '../protocol/needed-export.ts';
import { ServiceId, TOOLS } from '../quotas/service-calls.ts';
import { onEvent, op } from './bridge.ts';
import { applyFlags } from './env/apply-flags.ts';
import { createBinding, platformOf } from './env/binding-platform.ts';
import { createEnv, parseSetup } from './env/env.ts';
import { serve } from './events/dispatch.ts';
import { setExports, setProps } from './events/execution-context.ts';
import { type Handlers, handlersOfModule, handlersOfScript, kindsOf } from './events/handlers.ts';
import { describeFailure } from './failure.ts';
import { onMainModule } from './loader.ts';
import { ownExports, setOwnExports } from './loaders/own-exports.ts';
import { setNodeFlags } from './modules/node-modules.ts';
import { configureObjects } from './objects/instances.ts';
import { arrayIndexOf, ErrorCtor } from './primordials.ts';
import { failureOf } from './rpc/calls.ts';
import {
  complaintAboutExports,
  exportsOf,
  handlersOfEntrypoint,
  hasEntrypoint,
  hasObjects,
  isObjectClass,
  setMainModule,
} from './rpc/serve.ts';
import { recordRealm } from './runs/recorded-realm.ts';
import { setTools } from './runs/run.ts';
import { createTools } from './runs/tools.ts';
import { leaveGlobalScope } from './scope.ts';
import { setOutbound } from './web/fetch/fetch.ts';

setExports(ownExports());
let env: object = {};
let waitsForHeld = true;
let neededExports: readonly NeededExport[] = [];

onEvent(Ev.Setup, (json: string) => {
  const setup = parseSetup(json);
  setProps(setup.props ?? '');
  waitsForHeld = arrayIndexOf(setup.flags, 'queue_consumer_no_wait_for_wait_until') < 0;
  applyFlags(setup.flags);
  setNodeFlags(setup.flags);
  neededExports = setup.neededExports ?? [];
  configureObjects(setup.objectIdleMs, setup.flags, setup.holdsAnswers === true);
  env = createEnv(setup, createBinding);
  if (setup.loaded?.hasOutbound === true) setOutbound(OUTBOUND, failureOf);
  if (setup.run !== undefined) {
    setTools(createTools(platformOf(ServiceId.Callback, TOOLS), setup.run.tools));
    if (setup.run.clockMs !== undefined) recordRealm(setup.run.clockMs);
  }
});

onMainModule(
  namespace => {
    let handlers: Handlers;
    let complaint: string | undefined;
    try {
      handlers = namespace === undefined ? handlersOfScript() : handlersOfModule(namespace);
      complaint = complaintAboutExports(namespace, neededExports);
    } catch (error) {
      op(Op.LoadFailed, describeFailure(error, 'EDGE_SCRIPT_THREW'));
      return;
    }
    const kinds = kindsOf(handlers);
    if (complaint === undefined && kinds === '' && !hasEntrypoint(namespace)) {
      const advice =
        namespace === undefined
          ? "Add a listener: addEventListener('fetch', event => event.respondWith(...))"
          : `The main module exports ${exportsOf(namespace)}: export an object with a fetch, scheduled, queue, alarm or tail method as default`;
      complaint = `The function has no handler. ${advice}`;
    }
    if (complaint !== undefined) {
      op(Op.LoadFailed, describeFailure(new ErrorCtor(complaint), 'EDGE_SCRIPT_NO_HANDLER'));
      return;
    }
    setMainModule(namespace, env);
    if (namespace !== undefined) setOwnExports(namespace, isObjectClass);
    const fetchHandler =
      namespace === undefined ? 'event.respondWith() was given' : 'fetch() of the default export returned';
    serve(handlers, env, handlersOfEntrypoint, { waitsForHeld, fetchHandler });
    leaveGlobalScope();
    op(Op.Loaded, hasObjects(namespace) ? (kinds === '' ? 'object' : `${kinds},object`) : kinds);
  },
  error => {
    op(Op.LoadFailed, describeFailure(error, 'EDGE_SCRIPT_THREW'));
  },
);
