/**
 * A backend process of tests: one record store, and lines of text. On the control connection of an application each line is a command, and is answered with a
 * line. A connection of a cell is answered with its names, and then with what it sends.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { getPriority } from 'node:os';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { runBackend } from '../../../../src/backend/server/process/run-backend.js';
import { Storage } from '../../../../src/storage/storage.js';

await runBackend(async directory => {
  const storage = await Storage.open(directory);
  const values = storage.sublevel('values');
  const applications = new Set<string>();

  async function answer(command: string, key: string, value: string): Promise<string> {
    switch (command) {
      case 'put':
        await values.put(key, value);
        return 'put';
      case 'get':
        return String(await values.get(key));
      case 'applications':
        return [...applications].sort().join(' ');
      case 'environment':
        return Object.keys(process.env).sort().join(' ');
      case 'flags':
        return process.execArgv.join(' ');
      case 'priority':
        return String(getPriority());
      case 'descriptors':
        return readdirSync('/proc/self/fd')
          .map(fd => {
            try {
              return `${fd}=${readlinkSync(`/proc/self/fd/${fd}`)}`;
            } catch {
              return fd;
            }
          })
          .join(' ');
      case 'throw':
        setImmediate(() => {
          throw new Error(`thrown by ${key}`);
        });
        return 'throws';
      case 'reject':
        void Promise.reject(new Error(`rejected by ${key}`));
        return 'rejects';
      case 'hang':
        setImmediate(() => {
          for (;;);
        });
        return 'hangs';
      case 'hoard': {
        const held: unknown[] = [];
        setImmediate(() => {
          for (;;) held.push(new Array(100_000).fill(held.length));
        });
        return 'hoards';
      }
      default:
        return `unknown ${command}`;
    }
  }

  return {
    application(socket, { application }) {
      applications.add(application);
      socket.on('close', () => applications.delete(application));
      const lines = createInterface({ input: socket });
      lines.on('line', line => {
        const [command = '', key = '', value = ''] = line.split(' ');
        void answer(command, key, value).then(text => socket.write(`${text}\n`));
      });
    },
    cell(socket, { application, connection }) {
      socket.write(`${application} ${connection}\n`);
      socket.pipe(socket);
    },
    close: () => storage.close(),
  };
});
