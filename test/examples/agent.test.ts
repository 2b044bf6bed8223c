/** The agent of the examples, as its users have it: a process that is killed while an approval is open, a real model's endpoint, and a browser. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { json, text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from '../docs/markdown.js';
import { portOf } from '../servers.js';
import { launch, withBrowser } from './browser.js';

interface Entry {
  readonly kind: string;
  readonly run?: string;
  readonly [field: string]: unknown;
}

interface Message {
  readonly id: string;
  readonly entry?: Entry;
}

interface Agent {
  readonly url: string;
  readonly pid: number;
  /** Kills it, and waits for its end. */
  kill(): Promise<void>;
}

const NO_MODEL = { MODEL_URL: undefined, MODEL_NAME: undefined, MODEL_KEY: undefined };

function folder(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'edgehost-agent-test-'));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function program(env: Readonly<Record<string, string | undefined>>) {
  return spawn(process.execPath, [join(ROOT, 'examples/agent/server.js')], {
    env: { ...process.env, ...NO_MODEL, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function start(t: ExecutionContext, env: Readonly<Record<string, string | undefined>>): Promise<Agent> {
  const child = program(env);
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  t.teardown(kill);
  const errors = text(child.stderr);
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /^The agent is at (.*)$/.exec(line) ?? [];
    if (url !== undefined) return { url, pid: child.pid ?? 0, kill };
  }
  throw new Error(`The agent has not started: ${await errors}`);
}

async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<number> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(url, { ...init, body: JSON.stringify(body) });
  await response.text();
  return response.status;
}

/** The entries from the first that is sent to the first that is meant. */
async function entriesUntil(url: string, isMeant: (entry: Entry) => boolean): Promise<Entry[]> {
  const entries: Entry[] = [];
  const stop = new AbortController();
  const { body } = await fetch(`${url}/events`, { signal: stop.signal });
  let rest = '';
  for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const messages = (rest + chunk).split('\n\n');
    rest = messages.pop() ?? '';
    for (const message of messages) {
      const { entry }: Message = JSON.parse(message.slice('data: '.length));
      if (entry === undefined) continue;
      entries.push(entry);
      if (!isMeant(entry)) continue;
      stop.abort();
      return entries;
    }
  }
  throw new Error(`The events have ended after ${JSON.stringify(entries)}`);
}

const kindsOf = (entries: readonly Entry[]): string[] => entries.map(({ kind }) => kind);

test('a run that waits for approval outlives the agent: it is approved after a kill and a start, and denied once', async t => {
  t.timeout(120_000);
  const storage = folder(t);
  const first = await start(t, { STORAGE: storage });
  t.is(await post(`${first.url}/requests`, { text: 'Refund the broken lamp of Ann' }), 202);
  const before = await entriesUntil(first.url, ({ kind }) => kind === 'approval');
  const steps = ['request', 'code', 'call', 'result', 'code', 'call', 'call', 'approval'];
  t.deepEqual(
    kindsOf(before).filter(kind => kind !== 'log'),
    steps,
  );
  t.true(before.some(({ message }) => message === 'Ann Archer has 2 orders'));
  t.regex(String(before[3]?.error), /no such tool, did you mean tools\.findCustomers\(\)\?/);
  t.is(before.at(-1)?.input, "{ orderId: 'o1', cents: 3900, reason: 'Desk lamp: broken' }");
  await first.kill();

  const second = await start(t, { STORAGE: storage });
  t.not(second.pid, first.pid);
  const open = await entriesUntil(second.url, ({ kind }) => kind === 'approval');
  t.deepEqual(open, before);
  const { run } = open.at(-1) ?? {};
  t.is(await post(`${second.url}/decisions`, { run, approved: true }), 202);
  t.is(await post(`${second.url}/decisions`, { run, approved: true }), 404);
  const after = await entriesUntil(second.url, ({ kind }) => kind === 'answer');
  t.deepEqual(kindsOf(after.slice(before.length)), ['decision', 'call', 'result', 'answer']);
  t.regex(String(after.at(-1)?.text), /^The money goes back: \{ orderId: 'o1', cents: 3900, reason: /);

  t.is(await post(`${second.url}/requests`, { text: "Refund Bob's kettle" }), 202);
  const asked = await entriesUntil(second.url, entry => entry.kind === 'approval' && entry.run !== run);
  t.is(await post(`${second.url}/decisions`, { run: asked.at(-1)?.run, approved: false, note: 'Not ours' }), 202);
  const denied = await entriesUntil(second.url, entry => entry.kind === 'answer' && entry.text !== after.at(-1)?.text);
  t.regex(String(denied.at(-1)?.text), /^That did not work\. Error: Not ours/);
});

test('the agent refuses requests of other pages, and what it does not know', async t => {
  const { url } = await start(t, { STORAGE: folder(t) });
  const ask = { text: 'Who has spent most?' };
  t.is(await post(`${url}/requests`, ask, { origin: 'https://elsewhere.example' }), 403);
  t.is(await post(`${url}/requests`, ask, { 'content-type': 'text/plain' }), 400);
  t.is(await post(`${url}/requests`, { text: '' }), 400);
  t.is(await post(`${url}/requests`, { text: 'x'.repeat(20_000) }), 400);
  t.is(await post(`${url}/decisions`, { run: 'unknown', approved: true }), 404);
  t.is((await fetch(`${url}/server.js`)).status, 404);
  t.is(await post(`${url}/requests`, ask), 202);
  const entries = await entriesUntil(url, ({ kind }) => kind === 'answer');
  t.is(entries[0]?.text, ask.text);
  t.regex(String(entries.at(-1)?.text), /Ann Archer.*16800.*Bob Brook.*4500/s);
});

/** An endpoint as OpenAI's, which says the answers one after the other. */
async function endpoint(t: ExecutionContext, answers: readonly string[]): Promise<{ url: string; asked: unknown[] }> {
  const asked: unknown[] = [];
  const server: Server = createServer(async (request, response) => {
    const content = answers[asked.length];
    asked.push({ url: request.url, key: request.headers.authorization, body: await json(request) });
    if (content === undefined) response.writeHead(429).end('slow down');
    else response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${portOf(server)}/v1`, asked };
}

test('the agent asks the model that the environment names, and shows its failure', async t => {
  t.timeout(60_000);
  const { url: MODEL_URL, asked } = await endpoint(t, [
    'Wait.\n```ts\nconst n: bigint = 2n;\nreturn new Map([[n, 1]]);\n```\nThere.',
  ]);
  const { url } = await start(t, { STORAGE: folder(t), MODEL_URL, MODEL_NAME: 'tiny', MODEL_KEY: 'k3y' });
  t.is(await post(`${url}/requests`, { text: 'Something' }), 202);
  const entries = await entriesUntil(url, ({ kind }) => kind === 'error');
  t.deepEqual(kindsOf(entries), ['request', 'code', 'result', 'error']);
  t.is(entries[2]?.value, 'Map(1) { 2n => 1 }');
  t.is(entries[3]?.text, 'The model answered with 429: slow down');
  const [first, second] = asked as {
    url: string;
    key: string;
    body: { model: string; messages: { content: string }[] };
  }[];
  t.deepEqual([first?.url, first?.key, first?.body.model], ['/v1/chat/completions', 'Bearer k3y', 'tiny']);
  t.regex(first?.body.messages[0]?.content ?? '', /findCustomers\(input: \{\s*name: string/);
  t.regex(second?.body.messages.at(-1)?.content ?? '', /"status":"ok","value":"Map\(1\)/);
});

for (const [what, env, message] of [
  ['parts are missing', { MODEL_URL: 'http://127.0.0.1:1/v1' }, /A real model needs MODEL_NAME and MODEL_KEY, too/],
  ['MODEL_URL is none', { MODEL_URL: 'x', MODEL_NAME: 'y', MODEL_KEY: '' }, /MODEL_URL is "x", expected an address/],
] as const) {
  test(`the agent does not start when ${what}`, async t => {
    const child = program({ STORAGE: folder(t), ...env });
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    t.is(code, 1);
    t.regex(errors, message);
  });
}

withBrowser('a person asks and approves in a browser by the keyboard; what a model writes is text', async t => {
  t.timeout(120_000);
  const hostile = '</pre><img src=x onerror="document.title=1"><script>document.title=2</script>';
  const { url: MODEL_URL } = await endpoint(t, [
    `\`\`\`js\nconsole.log('${hostile}');\nreturn tools.refund({ orderId: 'o1', cents: 100, reason: '${hostile}' });\n\`\`\``,
    `Done ${hostile}`,
  ]);
  const { url } = await start(t, { STORAGE: folder(t), MODEL_URL, MODEL_NAME: 'tiny', MODEL_KEY: '' });
  const page = await (await (await launch(t)).newContext()).newPage();
  const problems: string[] = [];
  page.on('pageerror', error => problems.push(error.message));
  // The browser says in the console what the policy has blocked.
  page.on('console', message => message.type() === 'error' && problems.push(message.text()));
  await page.goto(url);
  await page.getByText('Connected, model: tiny').waitFor();
  await page.getByLabel('Request').focus();
  await page.keyboard.type('Refund <b>something</b>');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Allow refund?' }).waitFor();
  await page.getByRole('heading', { name: 'Refund <b>something</b>' }).waitFor();
  await page.getByLabel('Note, for a denial').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText(`Done ${hostile}`).waitFor();
  await page.getByText('None.').waitFor();
  // The card that had the focus is gone.
  await page.locator('#text:focus').waitFor();
  t.is(await page.title(), 'Agent');
  t.is(await page.locator('#conversations img, #conversations script, #conversations b').count(), 0);
  t.deepEqual(problems, []);
});
