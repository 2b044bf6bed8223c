/** What docs/from-workers.md and docs/functions.md say that code gets when it uses what is not there. */
import test from 'ava';
import { EdgeError, EdgeHost } from '../../src/index.js';
import { textOf } from './markdown.js';

const WORKERS = 'docs/from-workers.md';
const AUTHORS = 'docs/functions.md';

const inFetch = (code: string): string => `export default { async fetch(request, env) { ${code} } };`;

const inObject = (code: string): string =>
  `export class Room { constructor(ctx) { this.ctx = ctx; } fetch() { ${code} } } export default { fetch: (request, env) => env.ROOM.getByName('a').fetch(request) };`;

/** The source, the pages that have the text, and the text. */
const MISSING = [
  [
    `import { spawn } from 'node:child_process'; ${inFetch('spawn("ls")')}`,
    [WORKERS],
    'Error: node:child_process: spawn() is not supported in functions. A function cannot start processes: call a service of the application, or fetch()',
    'EDGE_HANDLER_THREW',
  ],
  [
    `import { EmailMessage } from 'cloudflare:email'; ${inFetch("new EmailMessage('a', 'b', 'c');")}`,
    [WORKERS],
    'Error: E-mail is not supported: EmailMessage cannot be made. Call the HTTP API of a mail service',
    'EDGE_HANDLER_THREW',
  ],
  [
    `import { WorkflowEntrypoint } from 'cloudflare:workers'; class W extends WorkflowEntrypoint {} ${inFetch('new W();')}`,
    [WORKERS],
    'Error: Workflows are not supported. Use a queue, whose messages are retried, or the alarms of a stateful object',
    'EDGE_HANDLER_THREW',
  ],
  [
    `const x = require('x'); ${inFetch('')}`,
    [WORKERS],
    "its global scope threw Error: Cannot find module 'x': require() finds Node's modules; import modules of the deployment, or bundle them",
    'EDGE_SCRIPT_THREW',
  ],
  ['export default { email() {} };', [WORKERS], 'The function has no handler', 'EDGE_SCRIPT_NO_HANDLER'],
  [
    inObject('return this.ctx.storage.getCurrentBookmark();'),
    [WORKERS],
    'Error: Bookmarks are not supported: the storage of an object cannot be set back to an earlier time',
    'EDGE_HANDLER_THREW',
  ],
  [
    inFetch('new HTMLRewriter();'),
    [WORKERS, AUTHORS],
    'Error: HTMLRewriter is not supported. Rewrite the text of the response, or bundle a parser in plain JavaScript such as parse5',
    'EDGE_HANDLER_THREW',
  ],
  [inFetch('WebAssembly.Module;'), [WORKERS], 'ReferenceError: WebAssembly is not defined', 'EDGE_HANDLER_THREW'],
  [
    inFetch('eval("1");'),
    [AUTHORS],
    'EvalError: Code generation from strings disallowed for this context',
    'EDGE_HANDLER_THREW',
  ],
  [
    inFetch('new Function("return 1");'),
    [AUTHORS],
    'EvalError: Code generation from strings disallowed for this context',
    'EDGE_HANDLER_THREW',
  ],
  [
    inFetch('new ArrayBuffer(1, { maxByteLength: 2 });'),
    [AUTHORS],
    'TypeError: A resizable ArrayBuffer is not supported',
    'EDGE_HANDLER_THREW',
  ],
] as const;

const host = new EdgeHost({ storage: ':memory:' });
test.after.always(() => host.close());

for (const [source, pages, text, code] of MISSING) {
  test(`what is documented of ${source} is what it gets`, async t => {
    const error = await failureOf(source);
    t.is(error.code, code);
    t.true(error.message.includes(text), error.message);
    for (const page of pages) t.true(textOf(page).includes(text), `${page} does not have: ${text}`);
  });
}

test('every name of which docs/functions.md says that it is not defined is not', async t => {
  const names = ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry'];
  for (const name of names) t.true(textOf(AUTHORS).includes(`\`${name}\``), name);
  t.deepEqual(await definedOf(names), []);
});

test('every name of which docs/functions.md says that it is there is defined', async t => {
  const [, section = ''] = /## What there is\n(.*?)\n## /s.exec(textOf(AUTHORS)) ?? [];
  const names = [...section.matchAll(/`(\w+)`/g)]
    .map(match => match[1] ?? '')
    .filter(name => !['browser', 'worker', 'workerd'].includes(name));
  t.true(names.length > 15);
  t.deepEqual(await definedOf(names), names);
});

test('a flag of Workers is refused as docs/from-workers.md says', async t => {
  const text = 'Option compatibilityFlags[0] of load() is the string "nodejs_als", expected one of';
  t.true(textOf(WORKERS).includes(text));
  // A name that the type does not have, as JavaScript would give it.
  const options: object = { compatibilityFlags: ['nodejs_als'] };
  const error = await t.throwsAsync(host.load(inFetch(''), options));
  t.true(error?.message.startsWith(text), error?.message);
});

async function failureOf(source: string): Promise<EdgeError> {
  const failure: unknown = await host
    .load(
      { main: 'index.js', modules: { 'index.js': source } },
      source.includes('Room') ? { objects: { ROOM: 'Room' } } : {},
    )
    .then(fn => fn.fetch('https://example.com/'))
    .catch((error: unknown) => error);
  if (failure instanceof EdgeError) return failure;
  throw new Error(`It got ${String(failure)}`);
}

async function definedOf(names: readonly string[]): Promise<unknown> {
  const code = `return Response.json(${JSON.stringify(names)}.filter(name => globalThis[name] !== undefined));`;
  const fn = await host.load(inFetch(code));
  return (await fn.fetch('https://example.com/')).json();
}
