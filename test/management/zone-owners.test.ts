import test from 'ava';
import { createManagement, type ManagementOptions } from '../../src/management/management.js';
import { type Answer, type Api, makeApi, newNames, OTHER_TOKEN, TOKEN, upload } from './support/api.js';
import { MemoryFunctions, memoryDirectories } from './support/memory-port.js';

const OWNER_TOKEN = 'test-token-of-the-owner-for-all-accounts';
const TOKENS = [
  { name: 'all', token: TOKEN, account: 'acme', permissions: 'all' },
  { name: 'other', token: OTHER_TOKEN, account: 'other', permissions: 'all' },
  { name: 'owner', token: OWNER_TOKEN, account: '*', permissions: 'all' },
] as const;

/** What the owner of the host says by default. */
const REFUSING = { zoneOwnership: () => false } as const;

function apiOf(options: Partial<ManagementOptions> = {}): Api {
  return makeApi({ tokens: TOKENS, ...options });
}

function makeZone(
  api: Api,
  name: string,
  account = 'acme',
  token = account === 'acme' ? TOKEN : OTHER_TOKEN,
): Promise<Answer> {
  return api.call('POST', '/zones', { name, account: { id: account } }, { token });
}

function codeOf({ status, body }: Answer): readonly unknown[] {
  return [status, body.errors[0]?.code];
}
const DENIED = [403, 4006];
const TAKEN = [409, 4007];

test('POST zones refuses a token of an account what nobody has given it, and says what to do', async t => {
  const api = apiOf(REFUSING);
  for (const name of ['example.com', 'EXAMPLE.com.', 'a.b.example'])
    t.deepEqual(codeOf(await makeZone(api, name)), DENIED);
  const answer = await makeZone(api, 'example.com');
  t.regex(
    answer.body.errors[0]?.message ?? '',
    /option zones of host\.account\(\), or zoneOwnership of host\.management\(\)/,
  );
  t.deepEqual((await api.call('GET', '/zones')).body.result, []);
});

test('POST zones takes for true nothing but true', async t => {
  const denied = apiOf({ zoneOwnership: () => Promise.resolve(false) });
  t.deepEqual(codeOf(await makeZone(denied, 'acme.example')), DENIED);
  for (const answer of ['yes', 1, {}, undefined]) {
    // What JavaScript code may answer, whatever the type says.
    const zoneOwnership = () => answer as boolean;
    const errors: unknown[] = [];
    const api = apiOf({ zoneOwnership, onError: error => errors.push(error) });
    t.deepEqual(codeOf(await makeZone(api, 'acme.example')), [500, 8000]);
    t.like(errors, [{ code: 'EDGE_OPTION_FAILED' }]);
    t.deepEqual((await api.call('GET', '/zones')).body.result, []);
  }
});

test('POST zones asks zoneOwnership with the account and the name in its one form', async t => {
  const asked: string[] = [];
  const api = apiOf({ zoneOwnership: async (account, zone) => asked.push(`${account} ${zone}`) > 0 });
  t.is((await makeZone(api, 'B\u00fccher.Example.')).status, 201);
  t.deepEqual(asked, ['acme xn--bcher-kva.example']);
});

test('POST zones tells no more than an internal error when zoneOwnership throws, and makes nothing', async t => {
  const errors: unknown[] = [];
  const zoneOwnership = () => {
    throw new Error('the resolver is down');
  };
  const api = apiOf({ zoneOwnership, onError: error => errors.push(error) });
  const answer = await makeZone(api, 'acme.example');
  t.deepEqual(codeOf(answer), [500, 8000]);
  t.notRegex(JSON.stringify(answer.body), /resolver/);
  t.is(errors.length, 1);
  t.deepEqual((await api.call('GET', '/zones')).body.result, []);
});

test('POST zones takes what is declared for the account without asking', async t => {
  const names = newNames();
  names.declare('acme', ['acme.example', '*.apps.example']);
  const api = apiOf({ ...REFUSING, names });
  for (const name of ['acme.example', 'shop.acme.example', 'a.apps.example'])
    t.is((await makeZone(api, name)).status, 201, name);
  for (const name of ['apps.example', 'b.example']) t.deepEqual(codeOf(await makeZone(api, name)), DENIED, name);
  t.deepEqual(codeOf(await makeZone(api, 'www.acme.example', 'other')), DENIED);
});

test('a token of an account cannot take a name of another account, above or below one, or a public suffix', async t => {
  const api = apiOf();
  t.is((await makeZone(api, 'victim.co.uk', 'other')).status, 201);
  const taken = ['www.victim.co.uk', 'a.b.victim.co.uk', 'WWW.Victim.co.uk.'];
  for (const name of taken) {
    const answer = await makeZone(api, name);
    t.deepEqual(codeOf(answer), TAKEN, name);
    t.notRegex(answer.body.errors[0]?.message ?? '', /"other"/);
  }
  t.is((await makeZone(api, 'sub.deep.example', 'other')).status, 201);
  t.deepEqual(codeOf(await makeZone(api, 'deep.example')), TAKEN);
  for (const name of ['co.uk', 'CO.UK', 'github.io', 'xn--55qx5d.cn'])
    t.deepEqual(codeOf(await makeZone(api, name)), DENIED, name);
  t.is((await makeZone(api, 'notvictim.co.uk')).status, 201);
});

test('a token for all accounts makes zones without asking, below those of others too', async t => {
  const api = apiOf(REFUSING);
  const make = (name: string, account: string) => makeZone(api, name, account, OWNER_TOKEN);
  t.is((await make('example.com', 'other')).status, 201);
  t.is((await make('acme.example.com', 'acme')).status, 201);
  t.is((await make('example.com', 'acme')).status, 409);
  const suffix = await make('co.uk', 'acme');
  t.deepEqual(codeOf(suffix), DENIED);
});

test('two accounts that ask for one zone at once get one of it', async t => {
  const names = newNames();
  let release = () => {};
  const bothAsked = new Promise<void>(resolve => {
    release = resolve;
  });
  let asked = 0;
  // Both have been allowed the name before either takes it.
  const zoneOwnership = async () => {
    asked++;
    if (asked === 2) release();
    await bothAsked;
    return true;
  };
  const first = apiOf({ names, zoneOwnership });
  // Two APIs of one host: each has a lock of its own.
  const second = apiOf({ names, zoneOwnership, storage: first.storage });
  const answers = await Promise.all([makeZone(first, 'race.example'), makeZone(second, 'race.example', 'other')]);
  t.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
  const zones = await Promise.all([
    first.call('GET', '/zones'),
    first.call('GET', '/zones', undefined, { token: OTHER_TOKEN }),
  ]);
  t.is(zones.flatMap(({ body }) => body.result).length, 1);
});

test('a zone that is deleted, or could not be written, is free again', async t => {
  const api = apiOf();
  const id = await api.zone('acme.example');
  t.is((await api.call('DELETE', `/zones/${id}`)).status, 200);
  t.is((await makeZone(api, 'acme.example', 'other')).status, 201);
  const names = newNames();
  const broken = apiOf({ names });
  await broken.storage.open();
  const { batch } = broken.storage;
  Object.assign(broken.storage, { batch: () => Promise.reject(new Error('no batch')) });
  t.is((await makeZone(broken, 'b.example')).status, 500);
  Object.assign(broken.storage, { batch });
  t.is(names.ownerOf('b.example'), undefined);
});

test('POST routes refuses a name in the zone that has been given to another account', async t => {
  const names = newNames();
  const api = apiOf({ names });
  const zone = await api.zone('example.com');
  names.declare('other', ['shop.example.com']);
  await api.call('PUT', '/accounts/acme/functions/hello', upload('export default {}'));
  const route = (pattern: string, token: string) =>
    api.call('POST', `/zones/${zone}/routes`, { pattern, function: 'hello' }, { token });
  for (const pattern of ['shop.example.com/*', '*.shop.example.com/a', 'SHOP.example.com./*']) {
    const answer = await route(pattern, TOKEN);
    t.deepEqual(codeOf(answer), TAKEN, pattern);
    t.notRegex(answer.body.errors[0]?.message ?? '', /"other"/);
    t.regex((await route(pattern, OWNER_TOKEN)).body.errors[0]?.message ?? '', /account "other"/);
  }
  const made = await route('www.example.com/*', TOKEN);
  t.is(made.status, 201);
  const moved = await api.call('PUT', `/zones/${zone}/routes/${String(made.result.id)}`, {
    pattern: 'shop.example.com/*',
    function: 'hello',
  });
  t.deepEqual(codeOf(moved), TAKEN);
  t.deepEqual(
    api.functions.triggers.get('acme/hello')?.routes.map(({ pattern }) => pattern),
    ['www.example.com/*'],
  );
});

// --- What is stored already ---

/** Zones and a route in each, as releases without permissions made them: by date, and without the source of the permission. */
async function storedBefore(): Promise<Api> {
  const api = makeApi({ names: newNames(), tokens: TOKENS });
  const zones = [
    ['victim.co.uk', 'other'],
    ['mine.example', 'acme'],
    ['www.victim.co.uk', 'acme'],
    ['co.uk', 'acme'],
    ['deep.victim.example', 'acme'],
    ['victim.example', 'other'],
  ] as const;
  for (const account of ['acme', 'other']) {
    const token = account === 'acme' ? TOKEN : OTHER_TOKEN;
    await api.call('PUT', `/accounts/${account}/functions/f`, upload('export default {}'), { token });
  }
  const level = api.storage.sublevel<string, unknown>('zones', { valueEncoding: 'json' });
  const zoneNames = api.storage.sublevel<string, unknown>('zone-names', { valueEncoding: 'json' });
  const routes = api.storage.sublevel<string, unknown>('routes', { valueEncoding: 'json' });
  const functionRoutes = api.storage.sublevel<string, unknown>('function-routes', { valueEncoding: 'json' });
  for (const [index, [name, account]] of zones.entries()) {
    // The order of ids is not that of creation.
    const id = String(zones.length - index).repeat(32);
    const time = `2025-01-0${index + 1}T00:00:00.000Z`;
    await level.put(id, { etag: 'e', value: { id, name, account, created_on: time, modified_on: time } });
    await zoneNames.put(name, { etag: 'e', value: { id } });
    const route = { id, zone: id, pattern: `${name}/*`, function: 'f', mode: 'fail-open' };
    await routes.put(`${id}/${id}`, { etag: 'e', value: route });
    await functionRoutes.put(`${account}/f/${id}`, { etag: 'e', value: route });
  }
  return api;
}

test('zones that were made before load; of those that conflict the later is inactive, and a warning says so', async t => {
  const before = await storedBefore();
  const names = newNames();
  const functions = new MemoryFunctions();
  const warnings: string[] = [];
  const again = createManagement({
    storage: before.storage,
    functions,
    directoryOf: memoryDirectories(),
    names,
    onWarning: ({ message }) => warnings.push(message),
  });
  await again.start();
  t.is(names.ownerOf('victim.co.uk'), 'other');
  t.is(names.ownerOf('www.victim.co.uk'), 'other');
  t.is(names.ownerOf('mine.example'), 'acme');
  t.is(names.ownerOf('x.co.uk'), undefined);
  t.is(names.ownerOf('deep.victim.example'), 'acme');
  t.is(names.ownerOf('victim.example'), undefined);
  t.is(warnings.length, 3, warnings.join('\n'));
  for (const [index, zone] of ['www.victim.co.uk', 'co.uk', 'victim.example'].entries()) {
    t.true(warnings[index]?.startsWith(`The stored zone "${zone}" of account "`), warnings[index]);
  }
  t.deepEqual(await again.restore(), { restored: 2, failed: [] });
  const served = (account: string) =>
    functions.triggers
      .get(`${account}/f`)
      ?.routes.map(({ pattern }) => pattern)
      .sort();
  t.deepEqual(served('acme'), ['deep.victim.example/*', 'mine.example/*']);
  t.deepEqual(served('other'), ['victim.co.uk/*']);
  t.is(warnings.filter(text => /^Route ".*" of function "f" does not serve/.test(text)).length, 3);
});

test('zones that were made before yield to what is declared, and stay within it', async t => {
  const before = await storedBefore();
  const names = newNames();
  names.declare('other', ['victim.example', 'victim.co.uk']);
  names.declare('acme', ['acme.example']);
  const warnings: string[] = [];
  const again = createManagement({
    storage: before.storage,
    functions: new MemoryFunctions(),
    directoryOf: memoryDirectories(),
    names,
    onWarning: ({ message }) => warnings.push(message),
  });
  await again.start();
  t.is(names.ownerOf('deep.victim.example'), 'other');
  t.is(names.ownerOf('mine.example'), undefined);
  t.is(warnings.length, 4, warnings.join('\n'));
  t.regex(
    warnings.join('\n'),
    /zone "mine.example" of account "acme" is inactive: the zones of account "acme" do not have/,
  );
});

test('zones that were allowed come before those that were not, and are taken again without asking', async t => {
  const before = await storedBefore();
  // Allowed later than the other zone of the name was made.
  const owner = { account: { id: 'other' }, name: 'sub.mine.example' };
  t.is((await before.call('POST', '/zones', owner, { token: OWNER_TOKEN })).status, 201);
  const names = newNames();
  const warnings: string[] = [];
  const again = makeApi({
    storage: before.storage,
    names,
    tokens: TOKENS,
    ...REFUSING,
    onWarning: ({ message }) => warnings.push(message),
  });
  await again.management.start();
  t.is(names.ownerOf('sub.mine.example'), 'other');
  t.is(names.ownerOf('mine.example'), undefined);
  t.regex(
    warnings.join('\n'),
    /zone "mine.example" of account "acme" is inactive: "mine.example" has zone "sub.mine.example"/,
  );
  const id = '5'.repeat(32);
  const answer = await again.call('POST', `/zones/${id}/routes`, { pattern: 'a.mine.example/*', function: 'f' });
  t.deepEqual(codeOf(answer), DENIED);
});

test('a zone that was declared goes with its declaration', async t => {
  const names = newNames();
  names.declare('acme', ['acme.example']);
  const before = apiOf({ ...REFUSING, names });
  const zone = await before.zone('acme.example');
  await before.call('PUT', '/accounts/acme/functions/f', upload('export default {}'));
  t.is((await before.call('POST', `/zones/${zone}/routes`, { pattern: 'acme.example/*', function: 'f' })).status, 201);
  const without = apiOf({ ...REFUSING, storage: before.storage, names: newNames() });
  await without.management.start();
  t.deepEqual(await without.management.restore(), { restored: 1, failed: [] });
  t.deepEqual(without.functions.triggers.get('acme/f')?.routes, []);
  const again = newNames();
  const later = apiOf({ ...REFUSING, storage: before.storage, names: again });
  await later.management.start();
  again.declare('acme', ['acme.example']);
  t.deepEqual(await later.management.restore(), { restored: 1, failed: [] });
  t.is(later.functions.triggers.get('acme/f')?.routes.length, 1);
});
