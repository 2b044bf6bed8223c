/** The answers of each `htmlHandling` to each kind of path, in the engine: the tables of the hosted platform. */
import test from 'ava';
import type { HtmlHandling } from '../../../src/index.js';
import { newHost } from '../new-host.js';
import { assetFolder } from './asset-folder.js';

/** A path, and its answer: the file that is served, the path that it redirects to, or 404. */
type Row = readonly [path: string, answer: string | number];

const PAGES = {
  'index.html': '/index.html',
  'both.html': '/both.html',
  'both/index.html': '/both/index.html',
  'file.html': '/file.html',
  'folder/index.html': '/folder/index.html',
  'bin/index.html': '/bin/index.html',
  'bin%2F': '/bin%2F',
  'file-bin': '/file-bin',
  'file-bin.html': '/file-bin.html',
  'style.css': '/style.css',
};

const NO_FILE: readonly Row[] = [
  ['/none', 404],
  ['/none/', 404],
  ['/none.html', 404],
  ['/none/index', 404],
  ['/none/index.html', 404],
  ['/style', 404],
  ['/style.css/', 404],
];

const ROWS: Readonly<Record<HtmlHandling, readonly Row[]>> = {
  'auto-trailing-slash': [
    ['/', '/index.html'],
    ['/index', '-> /'],
    ['/index.html', '-> /'],
    ['/both', '/both.html'],
    ['/both.html', '-> /both'],
    ['/both/', '/both/index.html'],
    ['/both/index.html', '-> /both/'],
    ['/both/index', '-> /both/'],
    ['/file', '/file.html'],
    ['/file.html', '-> /file'],
    ['/file/', '-> /file'],
    ['/file/index', '-> /file'],
    ['/file/index.html', '-> /file'],
    ['/folder', '-> /folder/'],
    ['/folder.html', '-> /folder/'],
    ['/folder/', '/folder/index.html'],
    ['/folder/index', '-> /folder/'],
    ['/folder/index.html', '-> /folder/'],
    ['/bin', '-> /bin/'],
    ['/bin%2F', '-> /bin/'],
    ['/bin%252F', '/bin%2F'],
    ['/file-bin', '/file-bin'],
    ['/file-bin.html', '/file-bin.html'],
    ['/file-bin/', 404],
    ['/file-bin/index', 404],
    ['/file-bin/index.html', 404],
    ['/style.css', '/style.css'],
    ...NO_FILE,
  ],
  'force-trailing-slash': [
    ['/', '/index.html'],
    ['/index', '-> /'],
    ['/index.html', '-> /'],
    ['/both', '-> /both/'],
    ['/both.html', '/both.html'],
    ['/both/', '/both/index.html'],
    ['/both/index', '-> /both/'],
    ['/both/index.html', '-> /both/'],
    ['/file', '-> /file/'],
    ['/file.html', '-> /file/'],
    ['/file/', '/file.html'],
    ['/file/index', '-> /file/'],
    ['/file/index.html', '-> /file/'],
    ['/folder', '-> /folder/'],
    ['/folder.html', '-> /folder/'],
    ['/folder/', '/folder/index.html'],
    ['/folder/index', '-> /folder/'],
    ['/folder/index.html', '-> /folder/'],
    ['/bin%2F', '-> /bin/'],
    ['/bin%252F', '/bin%2F'],
    ['/file-bin', '/file-bin'],
    ['/style.css', '/style.css'],
    ...NO_FILE,
  ],
  'drop-trailing-slash': [
    ['/', '/index.html'],
    ['/index', '-> /'],
    ['/index.html', '-> /'],
    ['/both', '/both.html'],
    ['/both.html', '-> /both'],
    ['/both/', '-> /both'],
    ['/both/index', '-> /both'],
    ['/both/index.html', '/both/index.html'],
    ['/file', '/file.html'],
    ['/file.html', '-> /file'],
    ['/file/', '-> /file'],
    ['/file/index', '-> /file'],
    ['/file/index.html', '-> /file'],
    ['/folder', '/folder/index.html'],
    ['/folder.html', '-> /folder'],
    ['/folder/', '-> /folder'],
    ['/folder/index', '-> /folder'],
    ['/folder/index.html', '-> /folder'],
    ['/bin', '/bin/index.html'],
    ['/bin%2F', '-> /bin'],
    ['/bin%252F', '/bin%2F'],
    ['/file-bin', '/file-bin'],
    ['/file-bin.html', '/file-bin.html'],
    ['/file-bin/', 404],
    ['/file-bin/index', 404],
    ['/file-bin/index.html', 404],
    ['/style.css', '/style.css'],
    ...NO_FILE,
  ],
  none: [
    ['/', 404],
    ['/index.html', '/index.html'],
    ['/index', 404],
    ['/file', 404],
    ['/file.html', '/file.html'],
    ['/folder/', 404],
    ['/folder/index.html', '/folder/index.html'],
    ['/style.css', '/style.css'],
    ...NO_FILE,
  ],
};

for (const [htmlHandling, rows] of Object.entries(ROWS) as [HtmlHandling, readonly Row[]][]) {
  test(`htmlHandling '${htmlHandling}' serves pages under one path each`, async t => {
    const host = newHost(t);
    const fn = await host.load({ assets: { directory: assetFolder(t, PAGES), htmlHandling } });
    for (const [path, answer] of rows) {
      const response = await fn.fetch(`http://x${path}?q=1`);
      const body = await response.text();
      const got =
        response.status === 307
          ? `-> ${response.headers.get('location')}`
          : response.status === 200
            ? body
            : response.status;
      t.is(got, typeof answer === 'string' && answer.startsWith('->') ? `${answer}?q=1` : answer, path);
    }
  });
}
