import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { unlessMissing } from '../needs.js';
import { type Door, KEYS, openDoor } from '../s3/endpoint.js';

/** Programs that people use: a tree goes up, comes down and must be the same. Each runs when it is on PATH. */

type Run = (program: string, args: readonly string[]) => Promise<string>;

interface Workplace {
  readonly endpoint: Door;
  readonly directory: string;
  readonly tree: string;
  readonly down: string;
  readonly run: Run;
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some(directory => existsSync(join(directory, program)));
}

function clientTest(
  program: string,
  title: string,
  body: (t: ExecutionContext, place: Workplace) => Promise<void>,
): void {
  unlessMissing(isOnPath(program) ? undefined : `no ${program}`)(title, async t => {
    const endpoint = await openDoor(t, { onDisk: true });
    const directory = await mkdtemp(join(tmpdir(), `edgehost-${program}-`));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    const tree = join(directory, 'tree');
    await plant(tree);
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: directory,
      LANG: 'C.UTF-8',
      AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_EC2_METADATA_DISABLED: 'true',
      RESTIC_PASSWORD: 'secret',
      RESTIC_REPOSITORY: `s3:${endpoint.endpoint}/files/backup`,
    };
    const run: Run = (name, args) =>
      new Promise((resolve, reject) => {
        execFile(
          name,
          args,
          { env, cwd: directory, maxBuffer: 16 * 1024 * 1024, timeout: 50_000 },
          (error, stdout, stderr) => {
            if (error === null) resolve(stdout);
            else reject(new Error(`${name} ${args.join(' ')}: ${error.message}\n${stdout}\n${stderr}`));
          },
        );
      });
    await body(t, { endpoint, directory, tree, down: join(directory, 'down'), run });
    t.deepEqual(endpoint.errors, []);
  });
}

const FILES: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  'small.txt': Buffer.from('small'),
  'with space & +plus.txt': Buffer.from('plus'),
  'ünï/日本語.txt': Buffer.from('unicode'),
  'deep/er/and/deeper/file': Buffer.alloc(70_000, 'deep'),
  'big.bin': Buffer.alloc(18 * 1024 * 1024, 'a big file '),
};

async function plant(root: string): Promise<void> {
  for (const [name, bytes] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), bytes);
  }
}

async function checkTree(t: ExecutionContext, root: string): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  t.is(entries.filter(entry => entry.isFile()).length, Object.keys(FILES).length);
  for (const [name, bytes] of Object.entries(FILES)) t.true((await readFile(join(root, name))).equals(bytes), name);
}

clientTest(
  'rclone',
  'rclone copies a tree up and down, checks it, sets times, and purges',
  async (t, { endpoint, directory, tree, down, run }) => {
    const config = join(directory, 'rclone.conf');
    await writeFile(
      config,
      [
        '[s3]',
        'type = s3',
        'provider = Other',
        `access_key_id = ${KEYS.accessKeyId}`,
        `secret_access_key = ${KEYS.secretAccessKey}`,
        `endpoint = ${endpoint.endpoint}`,
        'acl = private',
        'upload_cutoff = 8Mi',
        'chunk_size = 5Mi',
      ].join('\n'),
    );
    const rclone = (...args: string[]) =>
      run('rclone', ['--config', config, '--retries', '1', '--low-level-retries', '1', ...args]);
    await rclone('mkdir', 's3:files');
    await rclone('copy', tree, 's3:files/tree');
    await rclone('check', '--download', tree, 's3:files/tree');
    await rclone('copy', 's3:files/tree', down);
    await checkTree(t, down);
    await rclone('touch', '--timestamp', '2020-01-02T03:04:05', 's3:files/tree/small.txt');
    t.regex(await rclone('lsl', 's3:files/tree/small.txt'), /2020-01-02 03:04:05/);
    await rclone('moveto', 's3:files/tree/small.txt', 's3:files/tree/moved.txt');
    t.regex(await rclone('lsf', '-R', 's3:files/tree'), /moved\.txt/);
    t.is((await rclone('cat', '--offset', '10', '--count', '7', 's3:files/tree/big.bin')).toString(), ' a big ');
    await rclone('delete', 's3:files/tree');
    t.is(await rclone('lsf', '-R', '--files-only', 's3:files'), '');
  },
);

clientTest(
  's3cmd',
  's3cmd copies a tree up and down, and does what else it does with buckets',
  async (t, { endpoint, directory, tree, down, run }) => {
    const config = join(directory, 's3cfg');
    await writeFile(
      config,
      [
        '[default]',
        `access_key = ${KEYS.accessKeyId}`,
        `secret_key = ${KEYS.secretAccessKey}`,
        `host_base = 127.0.0.1:${endpoint.port}`,
        `host_bucket = 127.0.0.1:${endpoint.port}`,
        'use_https = False',
        'multipart_chunk_size_mb = 5',
      ].join('\n'),
    );
    const s3cmd = (...args: string[]) => run('s3cmd', ['-c', config, '--no-progress', ...args]);
    await s3cmd('mb', 's3://second');
    t.regex(await s3cmd('ls'), /s3:\/\/second/);
    await s3cmd('put', '--recursive', `${tree}/`, 's3://second/tree/');
    await mkdir(down);
    await s3cmd('get', '--recursive', 's3://second/tree/', `${down}/`);
    await checkTree(t, down);
    t.regex(await s3cmd('info', 's3://second/tree/small.txt'), /File size: +5/);
    await s3cmd('cp', 's3://second/tree/small.txt', 's3://files/copied.txt');
    await s3cmd('modify', '--add-header=Content-Type: text/x-new', 's3://files/copied.txt');
    t.is((await (await endpoint.buckets.open('files')).head('copied.txt'))?.httpMetadata.contentType, 'text/x-new');
    await s3cmd('mv', 's3://files/copied.txt', 's3://files/moved.txt');
    await s3cmd('sync', `${tree}/`, 's3://second/tree/');
    await s3cmd('del', '--recursive', '--force', 's3://second/tree/');
    await s3cmd('rb', 's3://second');
  },
);

clientTest(
  'restic',
  'restic makes a repository, backs a tree up, checks it and restores it',
  async (t, { tree, down, run }) => {
    const restic = (...args: string[]) => run('restic', args);
    await restic('init');
    await restic('backup', tree);
    await restic('check', '--read-data');
    await restic('restore', 'latest', '--target', down);
    await checkTree(t, join(down, tree));
    await restic('forget', '--keep-last', '1', '--prune');
  },
);

clientTest(
  'aws',
  'aws copies a tree up and down, and does the plain calls',
  async (t, { endpoint, tree, down, run }) => {
    // Each start of it takes seconds, so there are few.
    const aws = (...args: string[]) => run('aws', ['--endpoint-url', endpoint.endpoint, ...args]);
    let userAgent = '';
    endpoint.server.on('request', ({ headers }) => {
      userAgent = headers['user-agent'] ?? '';
    });
    await aws('s3', 'mb', 's3://second');
    await aws('s3', 'cp', '--recursive', '--quiet', tree, 's3://second/tree');
    await aws('s3', 'sync', '--quiet', 's3://second/tree', down);
    await checkTree(t, down);
    // Version 2 asks for the tags of objects that it copies in parts, unless an option prevents it; tags are not supported here.
    t.regex(userAgent, /^aws-cli\/\d/);
    const isSecond = userAgent.startsWith('aws-cli/2');
    const copyProps = isSecond ? ['--copy-props', 'metadata-directive'] : [];
    await aws('s3', 'cp', '--quiet', ...copyProps, 's3://second/tree/big.bin', 's3://files/big.bin');
    t.regex(await aws('s3', 'ls', '--recursive', 's3://second/'), /tree\/small\.txt/);
    const put = ['--bucket', 'files', '--key', 'k', '--body', join(tree, 'small.txt'), '--metadata', 'a=b'];
    await aws('s3api', 'put-object', ...put);
    await Promise.all([
      aws('s3api', 'head-object', '--bucket', 'files', '--key', 'k').then(text =>
        t.is(JSON.parse(text).Metadata.a, 'b'),
      ),
      t.throwsAsync(aws('s3api', 'get-object', '--bucket', 'files', '--key', 'none', 'out'), { message: /NoSuchKey/ }),
      t.throwsAsync(aws('s3api', 'get-bucket-acl', '--bucket', 'files'), { message: /NotImplemented/ }),
    ]);
    // Removes what is in the bucket first, as "rm --recursive" does.
    await aws('s3', 'rb', '--force', 's3://second');
    t.is(await endpoint.buckets.find('second'), null);
  },
);

clientTest('curl', 'curl signs an upload, a download and a listing', async (t, { endpoint, tree, down, run }) => {
  const keys = `${KEYS.accessKeyId}:${KEYS.secretAccessKey}`;
  const signed = [
    '--aws-sigv4',
    'aws:amz:us-east-1:s3',
    '--user',
    keys,
    '-H',
    'x-amz-content-sha256: UNSIGNED-PAYLOAD',
  ];
  const curl = (...args: string[]) => run('curl', ['--silent', '--show-error', '--fail', ...signed, ...args]);
  await curl('-T', join(tree, 'big.bin'), `${endpoint.endpoint}/files/big.bin`);
  await curl('-o', down, `${endpoint.endpoint}/files/big.bin`);
  t.true((await readFile(down)).equals(await readFile(join(tree, 'big.bin'))));
  t.regex(await curl(`${endpoint.endpoint}/files`), /<Key>big\.bin<\/Key>/);
});
