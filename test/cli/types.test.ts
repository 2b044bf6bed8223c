import { execFile } from 'node:child_process';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from '../docs/markdown.js';
import { edgehost, folderOf, put } from './program.js';

const CONFIGURATION = {
  name: 'shop',
  main: 'src/index.ts',
  vars: { GREETING: 'hello', LIMITS: { size: 5, 'a-b': [1, 'x'] } },
  secrets: { required: ['TOKEN'] },
  kv_namespaces: [{ binding: 'KV' }],
  r2_buckets: [{ binding: 'FILES' }],
  d1_databases: [{ binding: 'DB' }],
  durable_objects: {
    bindings: [
      { name: 'ROOM', class_name: 'Room' },
      { name: 'FAR', class_name: 'A', script_name: 'b' },
    ],
  },
  services: [{ binding: 'AUTH', service: 'auth' }],
  queues: { producers: [{ binding: 'JOBS', queue: 'jobs' }] },
  ai: { binding: 'AI' },
};

const MAIN = `import { DurableObject } from 'cloudflare:workers';
export class Room extends DurableObject<Env> {
  async count(): Promise<number> { return 1; }
}
export default {
  async fetch(_request: Request, env: Env): Promise<Response> {
    const bucket: R2Bucket = env.FILES;
    const database: D1Database = env.DB;
    const namespace: KVNamespace = env.KV;
    const count: number = await env.ROOM.get(env.ROOM.idFromName('a')).count();
    return new Response([env.GREETING.length, env.LIMITS.size + 1, env.TOKEN.length, bucket, database, namespace, count].join());
  },
} satisfies ExportedHandler<Env>;
`;

test('edgehost types writes the interface Env, which the function compiles with', async t => {
  t.timeout(240_000);
  const options = {
    strict: true,
    noEmit: true,
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023'],
    types: [],
    skipLibCheck: true,
  };
  const cwd = await folderOf(t, {
    'wrangler.json': JSON.stringify(CONFIGURATION),
    'src/index.ts': MAIN,
    '.dev.vars': 'TOKEN=secret\n',
    'tsconfig.json': JSON.stringify({ compilerOptions: options, include: ['src', '*.d.ts'] }),
    'node_modules/.keep': '',
  });
  const { code, out, err } = await edgehost(t, ['types'], { cwd });
  t.is(code, 0, err);
  t.is(out, 'wrote worker-configuration.d.ts\n');
  const text = await readFile(join(cwd, 'worker-configuration.d.ts'), 'utf8');
  t.notRegex(text, /secret/);
  t.deepEqual(
    /interface Env \{\n([^}]*\}[^}]*)\}/
      .exec(text)?.[1]
      ?.trim()
      .split(/;\n\s*/)
      .sort()
      .map(line => line.replace(/;$/, '')),
    [
      'AI: unknown',
      'AUTH: Service',
      'DB: SqlDatabase',
      'FAR: StatefulNamespace',
      'FILES: StoreBucket',
      'GREETING: string',
      'JOBS: StoreQueue',
      'KV: KvNamespace',
      'LIMITS: { size: number; "a-b": (number | string)[] }',
      'ROOM: StatefulNamespace<import("./src/index").Room>',
      'TOKEN: string',
    ],
  );
  await symlink(ROOT, join(cwd, 'node_modules/edgehost'));
  const compiled = promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', cwd], {
    cwd,
  });
  await t.notThrowsAsync(compiled.catch((error: { stdout?: string }) => Promise.reject(new Error(error.stdout))));
  t.regex((await edgehost(t, ['types', '--check'], { cwd })).out, /is up to date/);
  await put(join(cwd, 'wrangler.json'), JSON.stringify({ ...CONFIGURATION, vars: {} }));
  const differs = await edgehost(t, ['types', '--check'], { cwd });
  t.is(differs.code, 1);
  t.regex(differs.err, /worker-configuration\.d\.ts differs from wrangler\.json: run edgehost types/);
});
