import test, { type ExecutionContext } from 'ava';
import { cancelQuietly, chunksOf } from '../../src/bindings/bodies/external-stream.js';
import { handler, ISOLATIONS, newHost } from '../host/new-host.js';

/** A file of a form whose last bytes come when the test releases them, so that the body is still being filled when it is cancelled. */
class SlowFile extends File {
  readonly #end = new AbortController();

  constructor() {
    super(['first'], 'slow');
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { signal } = this.#end;
    return new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(1000));
        signal.addEventListener('abort', () => {
          controller.enqueue(new Uint8Array(1000));
          controller.close();
        });
      },
    });
  }

  end(): void {
    this.#end.abort();
  }
}

function formOf(file: File): FormData {
  const data = new FormData();
  data.set('text', 'some');
  data.set('file', file);
  return data;
}

function bodyOf(data: FormData): ReadableStream<Uint8Array> {
  const { body } = new Response(data);
  if (body === null) throw new Error('No body');
  return body;
}

/** The unhandled rejections when the form is filled further after it was cancelled. */
async function unhandledAfter(t: ExecutionContext, act: (form: FormData) => Promise<unknown>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown): void => {
    unhandled.push(reason);
  };
  process.on('unhandledRejection', listener);
  t.teardown(() => process.off('unhandledRejection', listener));
  const file = new SlowFile();
  await act(formOf(file));
  file.end();
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
  return unhandled;
}

test('cancelQuietly() leaves no rejection behind when the body is a form', async t => {
  const unhandled = await unhandledAfter(t, async form => {
    const early = bodyOf(form);
    await cancelQuietly(early, early.getReader());
    const late = bodyOf(form);
    const reader = late.getReader();
    await reader.read();
    await cancelQuietly(late, reader);
  });
  t.deepEqual(unhandled, []);
});

test('cancelQuietly() tells the source, and does not reject when that throws', async t => {
  let isTold = false;
  const stream = new ReadableStream({
    cancel() {
      isTold = true;
      throw new Error('no');
    },
  });
  await cancelQuietly(Object.freeze(stream), stream.getReader());
  t.true(isTold);
});

/** Gives this chunk, and never says that it has ended when it is cancelled. */
function clinging(chunk: unknown): ReadableStream {
  return new ReadableStream({
    pull: controller => controller.enqueue(chunk),
    cancel: () => new Promise(() => {}),
  });
}

test('cancelQuietly() does not wait for a source that never says that it is done', async t => {
  const stream = clinging('x');
  await t.notThrowsAsync(cancelQuietly(stream, stream.getReader()));
  const iterator = chunksOf(clinging('x'))[Symbol.asyncIterator]();
  await iterator.next();
  t.deepEqual(await iterator.return?.(), { done: true, value: undefined });
});

test('put() and uploadPart() of the application reject when a stream is wrong and its source never ends', async t => {
  const bucket = newHost(t).bucket('files');
  const upload = await bucket.createMultipartUpload('parts');
  const message = 'The stream given as the value has a chunk of type string, its chunks must be bytes';
  await t.throwsAsync(bucket.put('k', clinging('text')), { instanceOf: TypeError, message });
  await t.throwsAsync(upload.uploadPart(1, clinging('text')), { instanceOf: TypeError, message });
  const bytes = clinging(new Uint8Array(10));
  await t.throwsAsync(bucket.put('k', bytes, { onlyIf: { etagMatches: '"quoted"' } }), { instanceOf: TypeError });
  const failing = new ReadableStream({ pull: controller => controller.error(new Error('boom')) });
  await t.throwsAsync(bucket.put('k', failing), { message: 'boom' });
  t.is(await bucket.head('k'), null);
  t.is((await upload.complete([await upload.uploadPart(1, 'x')])).size, 1);
});

test('chunksOf() gives every chunk, and ends a stream whose chunk is awaited', async t => {
  const chunks: string[] = [];
  const source = new ReadableStream<string>({
    start(controller) {
      controller.enqueue('a');
      controller.enqueue('b');
      controller.close();
    },
  });
  for await (const chunk of chunksOf(source)) chunks.push(chunk);
  t.deepEqual(chunks, ['a', 'b']);
  const iterator = chunksOf(new ReadableStream<string>())[Symbol.asyncIterator]();
  const awaited = iterator.next();
  await iterator.return?.();
  t.deepEqual(await awaited, { done: true, value: undefined });
});

for (const isolation of ISOLATIONS) {
  test(`fetch() with a form that the function does not read costs the application nothing (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(handler('return new Response("unread")'));
    const unhandled = await unhandledAfter(t, async form => {
      t.is(await (await fn.fetch('http://x/', { method: 'POST', body: form })).text(), 'unread');
    });
    t.deepEqual(unhandled, []);
  });
}

test('chunksOf() ended early leaves no rejection behind when the body is a form', async t => {
  const unhandled = await unhandledAfter(t, async form => {
    const iterator = chunksOf(bodyOf(form))[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
  });
  t.deepEqual(unhandled, []);
});
