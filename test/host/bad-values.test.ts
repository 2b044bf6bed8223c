/** One schema a shape: what is wrong with a value is said in the same words by load(), by edgehost.toml and by the management API. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { COMPATIBILITY_FLAGS } from '../../src/bindings/compatibility-flags.js';
import { readFunctionFile } from '../../src/host/deploy/config-file.js';
import { resolveLoadOptions } from '../../src/host/options/options.js';
import { makeApi, upload } from '../management/support/api.js';

const SOURCE = 'export default { fetch: () => new Response() };\n';

interface Row {
  /** What is wrong. */
  readonly what: string;
  /** What all three say of it, after the key. */
  readonly says: string;
  readonly load?: { readonly options: object; readonly key: string };
  /** Lines below `name` and `main`, and the place of the error. */
  readonly toml?: { readonly text: string; readonly key: string; readonly at: string };
  /** Metadata of an upload, or the body of another route. */
  readonly management?: { readonly body: unknown; readonly key: string; readonly path?: string };
}

const IDENTIFIER = 'expected a JavaScript identifier that is not a reserved word';
const FLAG = 'store_list_honor_include';
const FLAGS = `expected one of ${COMPATIBILITY_FLAGS.map(flag => `'${flag}'`).join(', ')}, or one that always holds (docs/compatibility.md): there are no others`;
const BUCKET =
  'expected the name of a bucket: 3 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit';
const PATTERN = 'expected a route pattern such as example.com/api/*';

const ROWS: readonly Row[] = [
  {
    what: 'a name with a space',
    says: 'is the string "a b", expected 1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
    load: { options: { name: 'a b' }, key: 'name' },
    toml: { text: 'name = "a b"', key: 'name', at: '1:1' },
  },
  {
    what: 'a day that no month has',
    says: 'is the string "2024-02-30", expected a date as the string YYYY-MM-DD',
    load: { options: { compatibilityDate: '2024-02-30' }, key: 'compatibilityDate' },
    toml: { text: 'compatibility_date = "2024-02-30"', key: 'compatibility_date', at: '3:1' },
    management: { body: { compatibility_date: '2024-02-30' }, key: '/compatibility_date' },
  },
  {
    what: 'a compatibility flag that is a number',
    says: `is the number 1, ${FLAGS}`,
    load: { options: { compatibilityFlags: [FLAG, 1] }, key: 'compatibilityFlags[1]' },
    toml: { text: `compatibility_flags = ["${FLAG}", 1]`, key: 'compatibility_flags[1]', at: '3:1' },
    management: { body: { compatibility_flags: [FLAG, 1] }, key: '/compatibility_flags/1' },
  },
  {
    what: 'a compatibility flag that there is none of',
    says: `is the string "store_list_honour_include", ${FLAGS}`,
    load: { options: { compatibilityFlags: ['store_list_honour_include'] }, key: 'compatibilityFlags[0]' },
    toml: { text: 'compatibility_flags = ["store_list_honour_include"]', key: 'compatibility_flags[0]', at: '3:1' },
    management: { body: { compatibility_flags: ['store_list_honour_include'] }, key: '/compatibility_flags/0' },
  },
  {
    what: 'a compatibility flag for modules of Node',
    says: `is the string "nodejs_als", ${FLAGS}`,
    load: { options: { compatibilityFlags: ['nodejs_als'] }, key: 'compatibilityFlags[0]' },
    toml: { text: 'compatibility_flags = ["nodejs_als"]', key: 'compatibility_flags[0]', at: '3:1' },
    management: { body: { compatibility_flags: ['nodejs_als'] }, key: '/compatibility_flags/0' },
  },
  {
    what: 'a compatibility date in the future',
    says: 'is the string "2999-01-01", expected a date as the string YYYY-MM-DD (it is in the future)',
    load: { options: { compatibilityDate: '2999-01-01' }, key: 'compatibilityDate' },
    toml: { text: 'compatibility_date = "2999-01-01"', key: 'compatibility_date', at: '3:1' },
    management: { body: { compatibility_date: '2999-01-01' }, key: '/compatibility_date' },
  },
  {
    what: 'compatibility flags that are a string',
    says: 'is the string "a", expected an array of strings, at most 100',
    load: { options: { compatibilityFlags: 'a' }, key: 'compatibilityFlags' },
    toml: { text: 'compatibility_flags = "a"', key: 'compatibility_flags', at: '3:1' },
    management: { body: { compatibility_flags: 'a' }, key: '/compatibility_flags' },
  },
  {
    what: 'no CPU time',
    says: 'is the number 0, expected a whole number of ms from 1 on',
    load: { options: { limits: { cpuMs: 0 } }, key: 'limits.cpuMs' },
    toml: { text: '[limits]\ncpu_ms = 0', key: 'limits.cpu_ms', at: '4:1' },
    management: { body: { limits: { cpu_ms: 0 } }, key: '/limits/cpu_ms' },
  },
  {
    what: 'half a millisecond of CPU time',
    says: 'is the number 1.5, expected a whole number of ms from 1 on',
    load: { options: { limits: { cpuMs: 1.5 } }, key: 'limits.cpuMs' },
    toml: { text: 'limits = { cpu_ms = 1.5 }', key: 'limits.cpu_ms', at: '3:1' },
    management: { body: { limits: { cpu_ms: 1.5 } }, key: '/limits/cpu_ms' },
  },
  {
    what: 'a route with a star in the middle',
    says: `is the string "a.*.com/", ${PATTERN} (Route pattern "a.*.com/" is not host/path with "*" at the start of the host or the end of the path only)`,
    load: { options: { routes: ['a.com/*', { pattern: 'a.*.com/' }] }, key: 'routes[1].pattern' },
    toml: { text: '[[routes]]\npattern = "a.*.com/"', key: 'routes[0].pattern', at: '4:1' },
    management: { body: { pattern: 'a.*.com/', function: 'hello' }, key: '/pattern', path: 'routes' },
  },
  {
    what: 'an unknown mode of a route',
    says: "is the string \"open\", expected one of 'fail-open', 'fail-closed'",
    load: { options: { routes: [{ pattern: 'a.com/*', mode: 'open' }] }, key: 'routes[0].mode' },
    toml: { text: '[[routes]]\npattern = "a.com/*"\nmode = "open"', key: 'routes[0].mode', at: '5:1' },
    management: { body: { pattern: 'a.com/*', function: 'hello', mode: 'open' }, key: '/mode', path: 'routes' },
  },
  {
    what: 'a cron expression of six fields',
    says: 'is the string "* * * * * *", expected a cron expression of five fields (The cron trigger "* * * * * *" does not have five fields: minute, hour, day of month, month, day of week)',
    load: { options: { crons: ['* * * * * *'] }, key: 'crons[0]' },
    toml: { text: '[triggers]\ncrons = ["* * * * * *"]', key: 'triggers.crons[0]', at: '4:1' },
    management: { body: [{ cron: '* * * * * *' }], key: '/0/cron', path: 'schedules' },
  },
  {
    what: 'a bucket with a name that no bucket can have',
    says: `is the string "My_Files", ${BUCKET}`,
    load: { options: { buckets: { FILES: 'My_Files' } }, key: 'buckets.FILES' },
    toml: {
      text: '[[store_buckets]]\nbinding = "FILES"\nbucket_name = "My_Files"',
      key: 'store_buckets[0].bucket_name',
      at: '5:1',
    },
    management: {
      body: { bindings: [{ type: 'store_bucket', name: 'FILES', bucket_name: 'My_Files' }] },
      key: '/bindings/0/bucket_name',
    },
  },
  {
    what: 'a bucket without a name',
    says: `is the string "", ${BUCKET}`,
    load: { options: { buckets: { FILES: '' } }, key: 'buckets.FILES' },
    toml: {
      text: '[[store_buckets]]\nbinding = "FILES"\nbucket_name = ""',
      key: 'store_buckets[0].bucket_name',
      at: '5:1',
    },
    management: {
      body: { bindings: [{ type: 'store_bucket', name: 'FILES', bucket_name: '' }] },
      key: '/bindings/0/bucket_name',
    },
  },
  {
    what: 'a binding that is a reserved word',
    says: `is the string "class", ${IDENTIFIER}`,
    toml: {
      text: '[[store_buckets]]\nbinding = "class"\nbucket_name = "files"',
      key: 'store_buckets[0].binding',
      at: '4:1',
    },
    management: {
      body: { bindings: [{ type: 'store_bucket', name: 'class', bucket_name: 'files' }] },
      key: '/bindings/0/name',
    },
  },
  {
    what: 'a variable that is no identifier',
    says: `has the key "a-b", ${IDENTIFIER}`,
    load: { options: { vars: { 'a-b': '1' } }, key: 'vars' },
    toml: { text: '[vars]\nA = "1"\na-b = "1"', key: 'vars', at: '5:1' },
  },
  {
    what: 'a usage model that is none',
    says: "is the string \"paid\", expected one of 'free', 'bundled', 'unbound', 'standard'",
    load: { options: { usageModel: 'paid' }, key: 'usageModel' },
    management: { body: { usage_model: 'paid' }, key: '/usage_model' },
  },
  {
    what: 'a secret that is no text, without the value',
    says: 'is a number, expected a string',
    load: { options: { secrets: { TOKEN: 123456 } }, key: 'secrets.TOKEN' },
    management: {
      body: { bindings: [{ type: 'secret_text', name: 'TOKEN', text: 123456 }] },
      key: '/bindings/0/text',
    },
  },
  {
    what: 'a variable that JSON cannot hold',
    says: 'is an array, expected a string or what JSON can hold (JSON cannot hold Infinity)',
    load: { options: { vars: { A: [1, Number.POSITIVE_INFINITY] } }, key: 'vars.A' },
    toml: { text: '[vars]\nA = [1, inf]', key: 'vars.A', at: '4:1' },
  },
];

for (const { what, says, load, toml, management } of ROWS) {
  if (load !== undefined) {
    test(`load() says what is wrong with ${what}`, t => {
      const error = t.throws(() => resolveLoadOptions(load.options), { any: true });
      t.true(error instanceof (/is the number .*whole number/.test(says) ? RangeError : TypeError));
      t.true(String(error).includes(`: Option ${load.key} of load() ${says}`), String(error));
    });
  }
  if (toml !== undefined) {
    test(`edgehost.toml says what is wrong with ${what}`, async t => {
      const head = toml.text.startsWith('name') ? 'main = "index.js"' : 'name = "hello"\nmain = "index.js"';
      const file = fileOf(t, toml.text.startsWith('name') ? `${toml.text}\n${head}` : `${head}\n${toml.text}`);
      const error = await t.throwsAsync(readFunctionFile(file), { code: 'EDGE_CONFIG_INVALID' });
      t.true(error?.message.startsWith(`${file}:${toml.at}: ${toml.key} ${says}`), error?.message);
    });
  }
  if (management !== undefined) {
    test(`the management API says what is wrong with ${what}`, async t => {
      const { status, message } = await answerOf(management);
      t.is(status, 400);
      t.true(message.includes(`${management.key} ${says}`), message);
    });
  }
}

async function answerOf({ body, path }: NonNullable<Row['management']>): Promise<{ status: number; message: string }> {
  const api = makeApi();
  const { status, body: answer } = await (path === 'routes'
    ? api.call('POST', `/zones/${await api.zone('a.com')}/routes`, body)
    : path === 'schedules'
      ? api.call('PUT', '/accounts/acme/functions/hello/schedules', body)
      : api.call('PUT', '/accounts/acme/functions/hello', upload(SOURCE, Object(body))));
  return { status, message: answer.errors[0]?.message ?? '' };
}

function fileOf(t: ExecutionContext, toml: string): string {
  const root = mkdtempSync(join(tmpdir(), 'edgehost-values-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'index.js'), SOURCE);
  writeFileSync(join(root, 'edgehost.toml'), toml);
  return join(root, 'edgehost.toml');
}
