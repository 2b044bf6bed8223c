/** Agent. The host keeps its own connections: the options of an agent are kept, and have no effect. */
import { type Emitter, EventEmitter } from '../events/emitter.ts';
import { defineClass } from './streams.ts';

export interface Agent extends Emitter {
  options: object;
  protocol: string;
  defaultPort: number;
  maxSockets: number;
  maxTotalSockets: number;
  maxFreeSockets: number;
  keepAlive: boolean;
  requests: object;
  sockets: object;
  freeSockets: object;
}

export interface AgentConstructor {
  new (options?: object): Agent;
  (this: unknown, options?: object): Agent | undefined;
  readonly prototype: Agent;
  defaultMaxSockets: number;
}

const MEMBERS = {
  destroy(): void {},
  getName(options: { host?: string; port?: unknown; localAddress?: string; family?: number } = {}): string {
    const { host = 'localhost', port = '', localAddress = '', family } = options;
    return `${host}:${port}:${localAddress}${family === 4 || family === 6 ? `:${family}` : ''}`;
  },
};

function agentClass(protocol: string, defaultPort: number): AgentConstructor {
  function construct(this: Agent | undefined, options: object = {}): Agent | undefined {
    if (!(this instanceof Agent)) return new Agent(options);
    EventEmitter.call(this);
    const { maxSockets, maxTotalSockets, maxFreeSockets, keepAlive } = options as Partial<Agent>; // any object can be read from
    Object.assign(this, {
      options: { ...options, path: null },
      protocol,
      defaultPort,
      maxSockets: maxSockets ?? Number.POSITIVE_INFINITY,
      maxTotalSockets: maxTotalSockets ?? Number.POSITIVE_INFINITY,
      maxFreeSockets: maxFreeSockets ?? 256,
      keepAlive: keepAlive ?? false,
      requests: {},
      sockets: {},
      freeSockets: {},
    });
    return undefined;
  }
  const Agent = construct as unknown as AgentConstructor; // a function, as in Node
  defineClass('Agent', Agent, EventEmitter as never, MEMBERS);
  Agent.defaultMaxSockets = Number.POSITIVE_INFINITY;
  return Agent;
}

export const Agent = agentClass('http:', 80);
export const SecureAgent = agentClass('https:', 443);
export const globalAgent = new Agent({ keepAlive: true, timeout: 5000 });
export const secureGlobalAgent = new SecureAgent({ keepAlive: true, timeout: 5000 });
