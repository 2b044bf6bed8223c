/** Remembers what the host serves for the API, so that it can be compared with the stored state. */
import { createHash } from 'node:crypto';
import type { FunctionDeployment, FunctionPort, FunctionTriggers } from '../ports.js';

interface Serving {
  readonly account: string;
  readonly name: string;
  /** The version, and a hash of the secrets. */
  readonly code: string;
  readonly triggers: string;
}

/** The part of the host's interface by which functions come to serve and end. */
export type ServingPort = Pick<FunctionPort, 'activate' | 'setTriggers' | 'remove'>;

/** The port, which notes every change made through it. */
export class ServingFunctions implements ServingPort {
  readonly #port: ServingPort;
  readonly #byKey = new Map<string, Serving>();

  constructor(port: ServingPort) {
    this.#port = port;
  }

  async activate(
    deployment: FunctionDeployment,
    options?: Parameters<FunctionPort['activate']>[1],
  ): ReturnType<FunctionPort['activate']> {
    const answer = await this.#port.activate(deployment, options);
    const { account, name } = deployment;
    this.#byKey.set(keyOf(account, name), servingOf(deployment));
    return answer;
  }

  async setTriggers(account: string, name: string, triggers: FunctionTriggers): Promise<void> {
    await this.#port.setTriggers(account, name, triggers);
    const key = keyOf(account, name);
    const serving = this.#byKey.get(key);
    if (serving !== undefined) this.#byKey.set(key, { ...serving, triggers: textOf(triggers, serving.triggers) });
  }

  async remove(account: string, name: string): Promise<void> {
    await this.#port.remove(account, name);
    this.#byKey.delete(keyOf(account, name));
  }

  get all(): Pick<Serving, 'account' | 'name'>[] {
    return [...this.#byKey.values()];
  }

  has(account: string, name: string): boolean {
    return this.#byKey.has(keyOf(account, name));
  }

  /** Lets the host serve the stored deployment; nothing happens when it already does. Rejects with the host's errors. */
  async serve(deployment: FunctionDeployment): Promise<void> {
    const { account, name, triggers } = deployment;
    const serving = this.#byKey.get(keyOf(account, name));
    const stored = servingOf(deployment);
    if (serving?.code !== stored.code) await this.activate(deployment, { isStored: true });
    else if (serving.triggers !== stored.triggers)
      await this.setTriggers(account, name, { consumers: [], ...triggers });
  }
}

/** Accounts have no slash in their names. */
function keyOf(account: string, name: string): string {
  return `${account}/${name}`;
}

function servingOf({ account, name, version, secrets, triggers }: FunctionDeployment): Serving {
  const hash = createHash('sha256').update(JSON.stringify([...secrets].sort(([a], [b]) => (a < b ? -1 : 1))));
  return { account, name, code: `${version} ${hash.digest('base64url')}`, triggers: textOf(triggers, '') };
}

/** @param before triggers without consumers leave those as they are */
function textOf({ routes, crons, consumers }: FunctionTriggers, before: string): string {
  const kept: unknown = consumers === undefined && before !== '' ? JSON.parse(before)[2] : (consumers ?? []);
  const byPattern = [...routes].sort((a, b) => (a.pattern < b.pattern ? -1 : 1));
  return JSON.stringify([byPattern, crons, kept]);
}
