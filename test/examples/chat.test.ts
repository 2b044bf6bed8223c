/** The chat of the examples, as its users have it: two browsers, of which one is loaded again, and a host that is started anew. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { Browser, Page } from 'playwright-core';
import WebSocket from 'ws';
import { ROOT } from '../docs/markdown.js';
import { launch, withBrowser } from './browser.js';

interface Chat {
  readonly url: string;
  close(): Promise<void>;
}

interface Example {
  startChat(options: { readonly storage: string; readonly port: number }): Promise<Chat>;
}

/** A user in a browser profile of their own, in the room. */
async function enter(t: ExecutionContext, browser: Browser, url: string, name: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.on('pageerror', error => t.fail(`${name}: ${error.message}`));
  await page.goto(url);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('button', { name: 'Enter the room' }).click();
  await page.getByRole('status').getByText(`Connected as ${name}`).waitFor();
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

/** All that the page shows, once it shows this many messages. */
async function shown(page: Page, count: number): Promise<string[]> {
  const messages = page.getByRole('log').getByRole('listitem');
  await messages.nth(count - 1).waitFor();
  const said = await messages.evaluateAll(items =>
    items.map(item => `${item.querySelector('.author')?.textContent}: ${item.querySelector('p')?.textContent}`),
  );
  return said;
}

withBrowser(
  'two users talk in browsers; what was said is there after a reload, and after a restart of the host',
  async t => {
    t.timeout(120_000);
    const folder = mkdtempSync(join(tmpdir(), 'edgehost-chat-test-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const { startChat }: Example = await import(pathToFileURL(join(ROOT, 'examples/chat/server.js')).href);
    let chat = await startChat({ storage: folder, port: 0 });
    t.teardown(() => chat.close());
    const browser = await launch(t);

    const ann = await enter(t, browser, chat.url, 'Ann');
    const bob = await enter(t, browser, chat.url, 'Bob <b>');
    for (const page of [ann, bob]) await page.getByText('Ann, Bob <b>', { exact: true }).waitFor();
    await say(ann, 'Hello, is <i>anybody</i> here?');
    await shown(bob, 1);
    await say(bob, 'Me!');
    const said = ['Ann: Hello, is <i>anybody</i> here?', 'Bob <b>: Me!'];
    for (const page of [ann, bob]) t.deepEqual(await shown(page, 2), said);

    await ann.reload();
    t.deepEqual(await shown(ann, 2), said);
    const other = await enter(t, browser, `${chat.url}/rooms/another`, 'Cem');
    await say(other, 'Alone');
    t.deepEqual(await shown(other, 1), ['Cem: Alone']);
    await other.close();

    const { port } = new URL(chat.url);
    await chat.close();
    await ann.getByRole('status').getByText('connecting again').waitFor();
    chat = await startChat({ storage: folder, port: Number(port) });
    // Both pages are what they were, and come back by themselves.
    for (const [page, name] of [
      [ann, 'Ann'],
      [bob, 'Bob <b>'],
    ] as const) {
      await page.getByRole('status').getByText(`Connected as ${name}`).waitFor();
    }
    await say(bob, 'Back again');
    for (const page of [ann, bob]) t.deepEqual(await shown(page, 3), [...said, 'Bob <b>: Back again']);

    const foreign = new WebSocket(`${chat.url}/rooms/lobby/socket?name=Eve`, { origin: 'https://elsewhere.example' });
    foreign.on('error', () => {});
    const [, response]: { statusCode?: number }[] = await once(foreign, 'unexpected-response');
    t.is(response?.statusCode, 403);
    foreign.terminate();
  },
);
