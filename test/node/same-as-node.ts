/** Runs a script in Node and in a function of the real engine: both must print the same. */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import type { LoadOptions } from '../../src/index.js';
import { ISOLATIONS, newHost } from '../host/new-host.js';

const run = promisify(execFile);

/**
 * @param imports the import statements of the script
 * @param body statements that call `print(...values)`, which shows each value as JSON, with errors as their name, code and message
 */
export async function sameAsNode(t: ExecutionContext, imports: string, body: string): Promise<void> {
  const expected = await inNode(imports, body);
  for (const isolation of ISOLATIONS) {
    t.deepEqual(await inFunction(t, imports, body, { isolation }), expected, isolation);
  }
}

const PRINT = `
const lines = [];
const shown = value => {
  if (value instanceof Error) return value.name + ' ' + value.code + ' ' + value.message;
  if (typeof value === 'bigint' || typeof value === 'symbol' || value === undefined) return String(value);
  if (typeof value === 'function') return 'function ' + value.name;
  return JSON.stringify(value);
};
const print = (...values) => void lines.push(values.map(shown).join(' '));
const attempt = act => { try { print(act()); } catch (error) { print(error); } };
`;

async function inNode(imports: string, body: string): Promise<string[]> {
  const program = `${imports}\n${PRINT}\nawait (async () => {${body}\n})();\nconsole.log(JSON.stringify(lines));`;
  const { stdout } = await run(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program]);
  return JSON.parse(stdout);
}

/** The lines that the script prints in a function. */
export async function inFunction(
  t: ExecutionContext,
  imports: string,
  body: string,
  { isolation, ...options }: LoadOptions & { readonly isolation: (typeof ISOLATIONS)[number] },
): Promise<string[]> {
  const host = newHost(t, { isolation, limits: { cpuMs: 5000, startupMs: 5000 } });
  const source = `${imports}\n${PRINT}\nexport default { async fetch() { ${body}\nreturn Response.json(lines); } };`;
  const fn = await host.load(source, options);
  const response = await fn.fetch('http://function.example/');
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The function answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
