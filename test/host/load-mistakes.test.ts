import test from 'ava';
import type { LoadOptions } from '../../src/index.js';
import { newHost } from './new-host.js';

const PLAIN = 'export default { fetch: () => new Response("a") };';
const ROOMS = `import { StatefulObject } from 'edgehost:workers';
  export class Room extends StatefulObject {}
  export class Plain {}
  export const other = 1;
  ${PLAIN}`;

const SOURCES: readonly (readonly [string, unknown, RegExp])[] = [
  ['a path', './worker.js', /"\.\/worker\.js", which looks like a path, .*loadFile\(\)/],
  ['an absolute path with TypeScript', '/srv/app/worker.ts', /looks like a path/],
  ['a Buffer', Buffer.from(PLAIN), /a Uint8Array or Buffer, expected text: pass buffer\.toString\(\)/],
  ['a URL', new URL('file:///worker.js'), /a URL: pass the text of the file, or its path to loadFile\(\)/],
  ['a promise', Promise.resolve(PLAIN), /a promise: await it first/],
  ['an object of handlers', { fetch() {} }, /an object with the handler fetch\(\), expected text: .*pass the source/],
];

for (const [what, source, message] of SOURCES) {
  test(`load() says what to pass in place of ${what}`, async t => {
    // JavaScript callers can pass anything.
    await t.throwsAsync(newHost(t).load(source as string), { instanceOf: TypeError, message });
  });
}

const SCRIPTS: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'CommonJS',
    'module.exports = { fetch() {} };',
    'EDGE_SCRIPT_THREW',
    /CommonJS is not loaded: bundle the function as an ES module/,
  ],
  [
    'require()',
    `require('x'); ${PLAIN}`,
    'EDGE_SCRIPT_THREW',
    /require\(\) finds Node's modules; import modules of the deployment, or bundle them/,
  ],
  [
    'TypeScript',
    'export default { fetch(request: Request) {} }',
    'EDGE_SCRIPT_SYNTAX',
    /TypeScript and JSX are compiled before they are loaded/,
  ],
  ['JSX', 'export default { fetch() { return <a/>; } }', 'EDGE_SCRIPT_SYNTAX', /TypeScript and JSX are compiled/],
  [
    'named exports alone',
    'export function fetch() {} export const b = 1;',
    'EDGE_SCRIPT_NO_HANDLER',
    /The main module exports b, fetch: export an object with a fetch/,
  ],
];

for (const [what, source, code, message] of SCRIPTS) {
  test(`load() says what to do about ${what}`, async t => {
    await t.throwsAsync(newHost(t).load(source), { code, message });
  });
}

const EXPORTS: readonly (readonly [string, LoadOptions, RegExp])[] = [
  [
    'a class that is not exported',
    { objects: { ROOM: 'Nope' } },
    /The binding ROOM names the class "Nope", which is not exported\. The main module exports Plain, Room, default, other/,
  ],
  ['an export that is no class', { objects: { ROOM: 'other' } }, /"other", which is exported, but is no class/],
  [
    'a class of its own by the name of the function',
    { name: 'me', objects: { ROOM: { class: 'Nope', function: 'me' } } },
    /"Nope", which is not exported/,
  ],
  [
    'an entrypoint of its own that is not exported',
    { name: 'me', services: { SELF: { function: 'me', entrypoint: 'Nope' } } },
    /The binding SELF names the export "Nope", which is not exported/,
  ],
];

for (const [what, options, message] of EXPORTS) {
  test(`load() refuses a binding to ${what}`, async t => {
    await t.throwsAsync(newHost(t).load(ROOMS, options), { code: 'EDGE_SCRIPT_NO_HANDLER', message });
  });
}

test('load() accepts bindings to what the main module exports, and to other functions', async t => {
  const options = {
    name: 'me',
    objects: { ROOM: 'Room', PLAIN: 'Plain', THEIRS: { class: 'Nope', function: 'other' } },
    services: { SELF: { function: 'me', entrypoint: 'Room' }, OTHER: { function: 'other', entrypoint: 'Nope' } },
  };
  t.is((await newHost(t).load(ROOMS, options)).name, 'me');
});
