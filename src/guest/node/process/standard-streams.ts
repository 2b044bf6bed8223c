/** process.stdout and process.stderr write to the log of the function, each chunk as one message; process.stdin has ended. */
import { console } from '../../web/console/console.ts';
import { TextDecoder } from '../../web/encoding/encoding.ts';
import { requireNode } from '../options.ts';

interface StreamModule {
  readonly Writable: new (options: object) => object;
  readonly Readable: new (options: object) => object;
}

type Print = (format: string, text: string) => void;

const { log, error } = console as { readonly log: Print; readonly error: Print }; // it has the methods of the standard

function streams(): StreamModule {
  return requireNode('stream') as StreamModule; // of this bundle
}

function described(stream: object, fd: number): object {
  return Object.assign(stream, { fd, isTTY: false });
}

function output(fd: number, print: (text: string) => void): object {
  const { Writable } = streams();
  const decoder = new TextDecoder();
  return described(
    new Writable({
      decodeStrings: false,
      write(chunk: string | Uint8Array, _encoding: string, done: () => void) {
        const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
        // The log has lines, so the last line feed says nothing.
        const line = text.endsWith('\n') ? text.slice(0, -1) : text;
        if (text !== '') print(line);
        done();
      },
    }),
    fd,
  );
}

export function standardOutput(): object {
  return output(1, text => log('%s', text));
}

export function standardError(): object {
  return output(2, text => error('%s', text));
}

export function standardInput(): object {
  const { Readable } = streams();
  return described(
    new Readable({
      read(this: { push(chunk: null): void }) {
        this.push(null);
      },
    }),
    0,
  );
}
