/** The browser of the tests of examples. */
import { existsSync } from 'node:fs';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import { type Browser, chromium } from 'playwright-core';
import { unlessMissing } from '../needs.js';

/** Where distributions have it. */
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(path =>
  existsSync(path),
);

export const withBrowser = unlessMissing(CHROMIUM === undefined ? 'no Chromium' : undefined);

/** Ends with the test. */
export async function launch(t: ExecutionContext): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({
    ...(CHROMIUM !== undefined && { executablePath: CHROMIUM }),
    // Its sandbox is not to be had by the superuser.
    chromiumSandbox: !isRoot,
    args: ['--disable-dev-shm-usage', '--disable-gpu'],
  });
  t.teardown(() => browser.close());
  return browser;
}
