import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from '../docs/markdown.js';

async function stderrOf(argument: string, NODE_ENV: string): Promise<string> {
  const program = join(ROOT, 'dist/test/host/programs/unheard.js');
  const env = { ...process.env, NODE_ENV };
  const { stderr } = await promisify(execFile)(process.execPath, [program, argument], { env });
  return stderr;
}

test('a host says once how to see what functions log and throw when nobody listens', async t => {
  const stderr = await stderrOf('none', 'development');
  t.is(stderr.match(/EDGEHOST_UNHEARD/g)?.length, 1);
  t.regex(stderr, /Function "throws" has logged or failed, and nothing listens/);
  t.regex(stderr, /host\.on\('log', .*host\.on\('invocation', /);
});

for (const [what, argument, environment] of [
  ['in production', 'none', 'production'],
  ['with a listener for log', 'log', 'development'],
  ['with a listener for invocation', 'invocation', 'development'],
  ['where nothing is logged and nothing fails', 'quiet', 'development'],
  ['when runs of a sandbox log and fail, whose results say so', 'run', 'development'],
] as const) {
  test(`a host says nothing of unheard functions ${what}`, async t => {
    t.notRegex(await stderrOf(argument, environment), /EDGEHOST_UNHEARD/);
  });
}
