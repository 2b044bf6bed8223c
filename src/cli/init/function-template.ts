/** The files that `edgehost init` writes. */

export interface FunctionTemplate {
  /** The function itself: none of these may be there. */
  readonly own: Readonly<Record<string, string>>;
  /** Files of the project, by path: existing ones are kept. */
  readonly shared: Readonly<Record<string, string>>;
}

export interface TemplateOptions {
  readonly name: string;
  readonly language: 'ts' | 'js';
  /** Where package.json has this package from. */
  readonly edgehost: string;
}

export function functionTemplate({ name, language, edgehost }: TemplateOptions): FunctionTemplate {
  const isTypeScript = language === 'ts';
  const script = isTypeScript ? 'index.ts' : 'index.js';
  const compilerOptions = {
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['es2023'],
    types: ['edgehost/worker'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    ...(!isTypeScript && { allowJs: true, checkJs: true }),
  };
  const project = {
    name: name.toLowerCase(),
    private: true,
    type: 'module',
    scripts: { dev: 'edgehost dev', check: 'edgehost check' },
    devDependencies: { edgehost, ...(isTypeScript && { esbuild: '>=0.19' }) },
  };
  return {
    own: { [script]: isTypeScript ? TYPESCRIPT : JAVASCRIPT, 'edgehost.toml': configuration(name, script) },
    shared: {
      'tsconfig.json': json({ compilerOptions, include: [script] }),
      'package.json': json(project),
      '.gitignore': 'node_modules\n.edgehost\n.env\n',
    },
  };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function configuration(name: string, script: string): string {
  return `name = "${name}"
main = "${script}"
compatibility_date = "${new Date().toISOString().slice(0, 10)}"

[vars]
GREETING = "Hello"

[[store_buckets]]
binding = "FILES"
bucket_name = "files"
`;
}

const BODY = `    const { pathname } = new URL(request.url);
    if (request.method === 'PUT') {
      await env.FILES.put(pathname, request.body ?? '');
      return new Response('stored\\n', { status: 201 });
    }
    const stored = await env.FILES.get(pathname);
    if (stored !== null && 'body' in stored) return new Response(stored.body);
    return new Response(\`\${env.GREETING} from \${pathname}\\n\`);
  },
`;

const TYPESCRIPT = `/** What edgehost.toml binds. */
interface Env {
  GREETING: string;
  FILES: StoreBucket;
}

export default {
  async fetch(request, env) {
${BODY}} satisfies ExportedHandler<Env>;
`;

const JAVASCRIPT = `// @ts-check
/** @typedef {{ GREETING: string, FILES: StoreBucket }} Env What edgehost.toml binds. */

/** @satisfies {ExportedHandler<Env>} */
export default {
  async fetch(request, env) {
${BODY}};
`;
