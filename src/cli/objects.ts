/** `edgehost objects list`: what the stateful objects of an account have stored, from the management API of a host. */
import { isObject } from '../quotas/schema/describe.js';
import { accountUrl, ask, TOKEN, tokenOf, urlBelow } from './account-api.js';
import type { Syntax } from './terminal/arguments.js';
import { CommandError, type CommandIo, command } from './terminal/command.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

const SYNTAX = {
  name: 'objects',
  paths: 'list URL [CLASS]',
  count: { min: 2, max: 3 },
  about: `Lists the classes of an account of whose stateful objects some has stored something, or with CLASS those objects by their
ids: bytes as they count to the storage of the account, keys, and when the alarm is due. CLASS is that of a function, such as
chat/Room, or the id of a namespace. URL is that of the account in the management API, such as
https://admin.example.com/accounts/acme. The API token, with the permission objects:read, is taken from the environment
variable ${TOKEN}.`,
  options: {
    limit: { kind: 'number', value: 'N', min: 1, max: MAX_LIMIT, text: `objects of a page, else ${DEFAULT_LIMIT}` },
    cursor: { kind: 'text', value: 'ID', text: 'the page behind this object: the last of the page before says it' },
    all: { kind: 'flag', text: 'all pages, one after the other' },
    json: { kind: 'flag', text: 'each page as a line of JSON: namespaces, or objects and the cursor of the next page' },
  },
  examples: [
    'edgehost objects list https://admin.example.com/accounts/acme',
    'edgehost objects list https://admin.example.com/accounts/acme chat/Room --all --json',
  ],
} as const satisfies Syntax;

interface Namespace {
  readonly id: string;
  readonly function: string;
  readonly class: string;
}

interface StoredObject {
  readonly id: string;
  readonly bytes: number;
  readonly keys: number;
  readonly alarm_on?: string;
}

interface Answer<T> {
  readonly result: readonly T[];
  readonly result_info: { readonly cursor?: string; readonly total_pages?: number };
}

/** The type that each property must have; others may be missing, or are texts. */
type KindsOf<T> = Readonly<Partial<Record<keyof T, 'string' | 'number'>>>;

const NAMESPACE: KindsOf<Namespace> = { id: 'string', function: 'string', class: 'string' };
const STORED_OBJECT: KindsOf<StoredObject> = { id: 'string', bytes: 'number', keys: 'number' };

interface Api {
  list<T>(kinds: KindsOf<T>, path: string, query: Readonly<Record<string, string>>): Promise<Answer<T>>;
}

export const OBJECTS = command(SYNTAX, async ({ values, paths }, io) => {
  const [action, account = '', wanted] = paths;
  if (action !== 'list') throw new CommandError(2, `there is no action ${JSON.stringify(action)}; there is "list"`);
  const api = apiOf(accountUrl(account), io);
  const namespaces = await namespacesOf(api);
  if (wanted === undefined) {
    printNamespaces(namespaces, values.json, io);
    return 0;
  }
  const { id } = namespaceOf(namespaces, wanted);
  let cursor = values.cursor ?? '';
  do {
    const query = { per_page: `${values.limit ?? DEFAULT_LIMIT}`, cursor };
    const page = await api.list<StoredObject>(STORED_OBJECT, `/objects/namespaces/${id}/objects`, query);
    printObjects(page, values, io);
    cursor = page.result_info.cursor ?? '';
  } while (values.all && cursor !== '');
  return 0;
});

function apiOf(account: URL, io: CommandIo): Api {
  const token = tokenOf(io);
  const signal = io.stopSignal();
  return {
    async list<T>(kinds: KindsOf<T>, path: string, query: Readonly<Record<string, string>>) {
      const url = urlBelow(account, path, query);
      const answer: unknown = await (await ask(url, token, signal)).json().catch(() => undefined);
      if (isAnswer(answer, kinds)) return answer;
      throw new CommandError(1, `${url.origin} answered with something other than a list of objects`);
    },
  };
}

function isAnswer<T>(answer: unknown, kinds: KindsOf<T>): answer is Answer<T> {
  if (!isObject(answer) || !Array.isArray(answer.result) || !isObject(answer.result_info)) return false;
  const { cursor = '', total_pages: pages = 0 } = answer.result_info;
  if (typeof cursor !== 'string' || typeof pages !== 'number') return false;
  return answer.result.every(
    each => isObject(each) && Object.entries(kinds).every(([name, kind]) => typeof each[name] === kind),
  );
}

async function namespacesOf(api: Api): Promise<Namespace[]> {
  const all: Namespace[] = [];
  for (let page = 1; ; page++) {
    const { result, result_info: info } = await api.list<Namespace>(NAMESPACE, '/objects/namespaces', {
      page: `${page}`,
    });
    all.push(...result);
    if (page >= (info.total_pages ?? 0) || result.length === 0) return all;
  }
}

/** @throws CommandError with exit code 1 */
function namespaceOf(namespaces: readonly Namespace[], wanted: string): Namespace {
  const found = namespaces.find(each => each.id === wanted || `${each.function}/${each.class}` === wanted);
  if (found !== undefined) return found;
  const known = namespaces.map(each => `${each.function}/${each.class}`).join(', ');
  throw new CommandError(
    1,
    `There is no class ${JSON.stringify(wanted)} of which an object has stored anything${known === '' ? '' : `; there are ${known}`}`,
  );
}

function printNamespaces(namespaces: readonly Namespace[], isJson: boolean, io: CommandIo): void {
  if (isJson) io.out(`${JSON.stringify({ namespaces })}\n`);
  else for (const each of namespaces) io.out(`${each.id}  ${each.function}/${each.class}\n`);
}

function printObjects(
  { result, result_info: { cursor } }: Answer<StoredObject>,
  { json, all }: { readonly json: boolean; readonly all: boolean },
  io: CommandIo,
): void {
  if (json) {
    io.out(`${JSON.stringify({ objects: result, ...(cursor !== undefined && { cursor }) })}\n`);
    return;
  }
  for (const { id, bytes, keys, alarm_on: alarm } of result) {
    io.out(`${id}  ${bytes} bytes  ${keys} keys${alarm === undefined ? '' : `  alarm ${alarm}`}\n`);
  }
  if (cursor !== undefined && !all) io.err(`edgehost objects: there are more: --cursor ${cursor}\n`);
}
