// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code of callers
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { AUDIT } from '../../src/cli/audit.js';
import { parseLogLine } from '../../src/cli/deprecation-check/recordings.js';
import { type AuditedRequest, Auditor, auditRequests } from '../../src/cli/deprecation-check/requests.js';
import { SourceScanner } from '../../src/cli/deprecation-check/source-code.js';

async function folder(t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'edgehost-audit-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), content);
  }
  return root;
}

async function run(args: readonly string[], isTerminal = false) {
  const output = { out: '', err: '' };
  const code = await AUDIT.run(args, {
    out: text => {
      output.out += text;
    },
    err: text => {
      output.err += text;
    },
    isTerminal,
    now: () => new Date('2024-09-01T00:00:00Z'),
    env: {},
    stopSignal: () => new AbortController().signal,
  });
  return { code, ...output };
}

const asOf = new Date('2024-09-01T00:00:00Z');

const REQUESTS: readonly (readonly [AuditedRequest, string | null])[] = [
  [{ method: 'GET', url: 'https://api.example/client/v4/zones/1/firewall/rules?page=1' }, 'ending firewall-rules'],
  [{ method: 'HEAD', url: '/zones/1/filters/' }, 'ending firewall-rules'],
  [{ method: 'PATCH', url: '/zones/1/settings/minify' }, 'gone setting-minify'],
  [{ method: 'PUT', url: '/zones/1/settings/minify' }, null],
  [{ method: 'POST', url: '/accounts/1/images/v1/direct_upload' }, 'gone image-direct-upload'],
  [{ method: 'POST', url: '/accounts/1/images/v2/direct_upload' }, null],
  [{ method: 'DELETE', url: '/zones/1/script_monitor/policies/7' }, 'gone page-shield'],
  [{ method: 'GET', url: '/organizations/1/invites/2' }, 'gone organizations'],
  [{ method: 'GET', url: '/repos/organizations/1' }, null],
  [{ method: 'GET', url: '/zones/1/dns_records' }, null],
  [
    { method: 'POST', url: '/zones/1/dns_records', body: { type: 'SRV', data: { service: '_sip' } } },
    'gone srv-data-fields',
  ],
  [{ method: 'POST', url: '/zones/1/dns_records', body: { type: 'SRV', data: { port: 1 } } }, null],
  [
    { method: 'POST', url: '/zones/1/dns_records', responseBody: { errors: [{ code: 1004, error_chain: [] }] } },
    'ending dns-record-error-chain',
  ],
  [
    { method: 'GET', url: '/', headers: { 'Content-Length': '1', 'Transfer-Encoding': 'chunked' } },
    'gone double-framing',
  ],
  [{ method: 'POST', url: '/pools', body: { notification_email: 'a@example.com' } }, 'gone notification-email'],
  [{ method: 'GET', url: 'http://[' }, null],
  [{ method: '', url: '' }, null],
];

for (const [request, expected] of REQUESTS) {
  test(`auditRequests() finds ${expected ?? 'nothing'} for ${request.method} ${request.url} ${JSON.stringify(request.body ?? '')}`, async t => {
    const [finding, more] = await auditRequests([request], { asOf });
    t.is(finding === undefined ? null : `${finding.state} ${finding.id}`, expected);
    t.is(more, undefined);
  });
}

test('auditRequests() says what to do instead', async t => {
  const [finding] = await auditRequests([{ method: 'GET', url: '/accounts/a/tunnels', file: 'x', line: 3 }], { asOf });
  t.like(finding, {
    endOfLife: '2024-02-04',
    instead: 'Tunnel API',
    route: '/accounts/{account_identifier}/tunnels',
    file: 'x',
    line: 3,
  });
});

test('auditRequests() goes by base path, hosts, ignored rows and moved dates', async t => {
  const calls = [{ method: 'GET', url: 'https://api.example/base/zones/1/settings/brotli' }];
  const found = async (options: object) => (await auditRequests(calls, { asOf, ...options })).map(({ state }) => state);
  t.deepEqual(await found({}), []);
  t.deepEqual(await found({ basePath: '/base' }), ['gone']);
  t.deepEqual(await found({ basePath: '/base', hosts: ['other.example'] }), []);
  t.deepEqual(await found({ basePath: '/base', ignore: ['setting-brotli'] }), []);
  t.deepEqual(await found({ basePath: '/base', schedule: { endOfLife: { 'setting-brotli': '2026-01-01' } } }), [
    'ending',
  ]);
});

for (const [line, method, url] of [
  [
    '1.2.3.4 - - [10/Oct/2024:13:55:36 +0000] "GET /zones/a/filters HTTP/1.1" 200 2 "-" "curl/8"',
    'GET',
    '/zones/a/filters',
  ],
  ['{"level":30,"request":{"method":"PUT","uri":"/zones/a/rate_limits/x"}}', 'PUT', '/zones/a/rate_limits/x'],
  ['{"ClientRequestMethod":"GET","ClientRequestURI":"/user/billing/profile"}', 'GET', '/user/billing/profile'],
  ['PATCH https://api.example/zones/a/settings/brotli', 'PATCH', 'https://api.example/zones/a/settings/brotli'],
] as const) {
  test(`parseLogLine() reads ${line.slice(0, 40)}`, t => {
    t.deepEqual(parseLogLine(line), { method, url });
  });
}

test('parseLogLine() answers null for a line without a request', t => {
  for (const line of ['', 'GET', 'TARGET /x', '{"method":1}', '{', '{"method":"GET"}'])
    t.is(parseLogLine(line), null, line);
});

const SOURCES: readonly (readonly [string, string])[] = [
  ['await fetch(`${base}/zones/${zone.id}/firewall/rules`, { method: "POST" });', 'POST firewall-rules'],
  ["axios.get('/zones/' + zoneId + '/filters/' + filter.id)", 'GET firewall-rules'],
  ['requests.put("https://api/client/v4/zones/%s/rate_limits/%s" % (z, r))', 'PUT rate-limits'],
  ['curl -X DELETE "https://api/zones/$ZONE/firewall/waf/overrides/$ID"', 'DELETE waf-packages'],
  ['f"{base}/zones/{zone_id}/script_monitor/scripts/{sid}"', '* page-shield'],
  ["router.get('/zones/:zone_id/settings/brotli')", 'GET setting-brotli'],
  ['"#{base}/accounts/#{id}/tunnels"', '* account-tunnels'],
  ['http.NewRequest("GET", fmt.Sprintf("%s/zones/%s/analytics/dashboard", base, zone), nil)', 'GET zone-analytics'],
  ['/accounts/<account>/images/v1/direct_upload', 'POST image-direct-upload'],
  ['pool.notification_email = "a@example.com"', '* notification-email'],
  ['await patch(pool, { notification_email: "a@example.com" });', '* notification-email'],
  ['const body = { "notification_email": address };', '* notification-email'],
];

for (const [source, expected] of SOURCES) {
  test(`scanText() finds ${expected} in ${source}`, t => {
    const [finding, more] = new SourceScanner(new Auditor({ asOf })).scanText(`\n${source}\n`, 'a.js');
    t.is(`${finding?.method} ${finding?.id}`, expected);
    t.is(finding?.line, 2);
    t.is(more, undefined);
  });
}

for (const source of [
  'fetch(`/zones/${z}/firewall/rulesets`)',
  'fetch(`/zones/${z}/dns_records`)',
  'fetch(`/zones/${z}/page_shield/scripts`)',
  'import x from "./zones/filters.js"',
  'fetch(`/zones/${z}/settings/brotli2`)',
]) {
  test(`scanText() finds nothing in ${source}`, t => {
    t.deepEqual(new SourceScanner(new Auditor({ asOf })).scanText(source, 'a.js'), []);
  });
}

test('scanText() takes any text, and long hostile lines in one pass', t => {
  const scanner = new SourceScanner(new Auditor({ asOf }));
  for (const part of ['/zones/${', '/"+a+"', '{{', '/zones/a', '/%s', "'/'+"])
    scanner.scanText(part.repeat(20_000), 'a.js');
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => Array.isArray(scanner.scanText(text, 'a.js'))));
  t.pass();
});

test('edgehost audit reads a HAR, with the line of each call', async t => {
  const entry = (method: string, url: string) => ({ request: { method, url, headers: [] }, response: {} });
  const har = {
    log: { entries: [entry('GET', 'https://a/zones/1'), entry('GET', 'https://a/zones/1/settings/minify')] },
  };
  const text = JSON.stringify(har, null, 1);
  const root = await folder(t, { 'a.har': text });
  const { code, out } = await run(['--json', path.join(root, 'a.har')]);
  t.is(code, 1);
  const report = JSON.parse(out);
  t.like(report, { asOf: '2024-09-01', gone: 1, ending: 0, requests: 2 });
  t.is(text.split('\n')[report.findings[0].line - 1]?.includes('minify'), true);
});

test('edgehost audit counts the calls of an access log, and shows each kind once', async t => {
  const line = (route: string) => `1.2.3.4 - - [x] "GET ${route} HTTP/1.1" 200 1\n`;
  const root = await folder(t, {
    'access.log': `garbage\n${line('/zones/1/filters').repeat(500)}${line('/user/billing/history')}`,
  });
  const { code, out } = await run([path.join(root, 'access.log')]);
  t.is(code, 1);
  t.regex(out, /access\.log:502: GET \/user\/billing\/history gone since 2023-06-06; instead: nothing stated\n/);
  t.regex(out, /access\.log:2: GET \/zones\/1\/filters \(500 times\) ends on 2025-01-15; instead: WAF custom rules\n/);
  t.regex(out, /501 requests as of 2024-09-01: 1 gone, 500 ending\n$/);
});

test('edgehost audit prints a table on a terminal', async t => {
  const root = await folder(t, { 'src/a.ts': 'fetch("/user/billing/profile")' });
  const { out } = await run([root], true);
  t.regex(
    out,
    /^STATE +DATE +CALL +WHERE +INSTEAD\ngone +2023-06-06 +GET \/user\/billing\/profile +.*a\.ts:1 +nothing stated\n/,
  );
});

test('edgehost audit walks source code without dependencies, hidden folders, links and other files', async t => {
  const call = 'fetch("/user/billing/profile")';
  const root = await folder(t, {
    'a.ts': call,
    'b/c.py': call,
    'node_modules/x/i.js': call,
    '.git/x.js': call,
    'dist/x.js': call,
    'image.png': call,
  });
  const { out } = await run(['--json', root]);
  t.like(JSON.parse(out), { gone: 2, files: 2 });
});

test('edgehost audit exits with 0 for what only ends, unless --fail-on any', async t => {
  const root = await folder(t, { 'a.ts': 'fetch(`/zones/${z}/rate_limits`)' });
  t.is((await run([root])).code, 0);
  t.is((await run(['--fail-on', 'any', root])).code, 1);
  t.is((await run(['--as-of', '2025-01-15', root])).code, 1);
  t.is((await run(['--as-of', '2025-01-15', '--fail-on', 'none', root])).code, 0);
});

test('edgehost audit goes by a schedule from a file', async t => {
  const root = await folder(t, {
    'a.ts': 'fetch("/user/billing/profile")',
    'dates.json': '{"endOfLife":{"billing":"2030-01-01"}}',
  });
  t.is((await run(['--schedule', path.join(root, 'dates.json'), path.join(root, 'a.ts')])).code, 0);
});

for (const [what, args, message] of [
  ['no path', [], /path is needed/],
  ['an unknown option', ['--nope', '.'], /There is no option --nope/],
  ['an option that is nearly one', ['--jsn', '.'], /no option --jsn; did you mean --json\?/],
  ['a date that is none', ['--as-of', '2025-02-30', '.'], /YYYY-MM-DD/],
  ['an unknown --fail-on', ['--fail-on', 'x', '.'], /gone, any, none/],
  ['an unknown row', ['--ignore', 'x', '.'], /no row "x"/],
  ['a file that is not there', ['/nowhere/at/all'], /ENOENT/],
] as const) {
  test(`edgehost audit exits with 2 and says why for ${what}`, async t => {
    const { code, err, out } = await run(args);
    t.is(code, 2);
    t.regex(err, message);
    t.is(out, '');
  });
}

test('edgehost audit exits with 2 for a file in which no request is recognized', async t => {
  const root = await folder(t, { 'notes.txt': 'nothing', 'bad.har': '{"log":' });
  t.regex((await run([path.join(root, 'notes.txt')])).err, /no request was recognized/);
  t.regex((await run([path.join(root, 'bad.har')])).err, /not a HAR file/);
});

test('edgehost audit explains itself with --help', async t => {
  t.deepEqual(await run(['--help']), { code: 0, out: AUDIT.help, err: '' });
});

test('edgehost runs the audit as a command, and explains unknown ones', async t => {
  const cli = path.resolve('dist/src/cli/main.js');
  const root = await folder(t, { 'a.ts': 'fetch("/user/billing/profile")' });
  const exec = promisify(execFile);
  const failed = await t.throwsAsync(exec(process.execPath, [cli, 'audit', root]));
  t.like(failed, { code: 1 });
  t.regex((await exec(process.execPath, [cli, '--help'])).stdout, /edgehost <command>/);
  t.like(await t.throwsAsync(exec(process.execPath, [cli, 'nope'])), { code: 2 });
});
