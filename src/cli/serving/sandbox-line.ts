/** One line about the layers of the operating system that separate accounts. */
import type { EdgeHost } from '../../host/edge-host.js';
import { LAYERS, type SandboxLayer, type SandboxState } from '../../pool/sandbox/state.js';

const NAMES: Partial<Record<SandboxLayer, string>> = { ownUser: 'own user', resourceLimits: 'limits' };

export function sandboxLine(state: SandboxState): string {
  const layers = LAYERS.filter(layer => state[layer]).map(layer =>
    layer === 'landlock' ? `landlock (ABI ${state.landlockAbi})` : (NAMES[layer] ?? layer),
  );
  const having = layers.length === 0 ? 'no layers' : layers.join(', ');
  if (state.separated) return `Sandbox: accounts are separated: ${having}`;
  if (state.mode === 'custom') return 'Sandbox: a command of your own';
  if (state.mode === 'off') return 'Sandbox: off';
  return `Sandbox: accounts are not separated from each other's native code: ${having}; edgehost doctor says why`;
}

/** Undefined before the first function is loaded. */
export function sandboxOf(host: EdgeHost): string | undefined {
  const { sandbox } = host.health();
  return sandbox === undefined ? undefined : sandboxLine(sandbox);
}
