import test, { type ExecutionContext } from 'ava';
import { Router } from '../../src/host/ingress/router.js';
import { NameOwners, type ZoneApproval } from '../../src/hostnames/name-owners.js';
import { compilePattern } from '../../src/hostnames/route-pattern.js';

/** Names, a router of them whose targets are names of functions, and the zones that have become inactive. */
function newNames(): { names: NameOwners; router: Router<string>; inactive: string[]; load: Load } {
  const inactive: string[] = [];
  const names: NameOwners = new NameOwners({
    onChange: () => router.forget(),
    onInactive: message => inactive.push(message),
  });
  const router = new Router<string>(names);
  const load: Load = (account, functionName, ...patterns) => {
    router.check(account, functionName, patterns);
    for (const pattern of patterns) {
      const rest = { mode: 'fail-closed', zone: '', customDomain: false } as const;
      router.add({ ...rest, pattern, account, functionName, target: functionName });
    }
  };
  return { names, router, inactive, load };
}
type Load = (account: string, functionName: string, ...patterns: string[]) => void;

const TAKEN = { code: 'EDGE_NAME_TAKEN' };
const DENIED = { code: 'EDGE_NAME_DENIED' };

test('declare() gives a name and all below it', t => {
  const { names } = newNames();
  names.declare('acme', ['acme.example']);
  t.is(names.ownerOf('acme.example'), 'acme');
  t.is(names.ownerOf('a.b.acme.example'), 'acme');
  t.is(names.ownerOf('notacme.example'), undefined);
  t.is(names.ownerOf('example'), undefined);
});

test('declare() gives what is below a name alone with a star', t => {
  const { names } = newNames();
  names.declare('acme', ['*.acme.example']);
  t.is(names.ownerOf('acme.example'), undefined);
  t.is(names.ownerOf('www.acme.example'), 'acme');
});

test('the most specific zone owns a name', t => {
  const { names } = newNames();
  names.declare('a', ['example.com']);
  names.declare('b', ['b.example.com', '*.c.example.com']);
  t.is(names.ownerOf('www.example.com'), 'a');
  t.is(names.ownerOf('b.example.com'), 'b');
  t.is(names.ownerOf('x.b.example.com'), 'b');
  t.is(names.ownerOf('c.example.com'), 'a');
  t.is(names.ownerOf('x.c.example.com'), 'b');
});

const SAME_NAME = ['victim.example', 'VICTIM.example', 'victim.example.', 'vICTIM\u3002example'];
for (const zone of SAME_NAME) {
  test(`declare() refuses a zone that another account has, written ${zone}`, t => {
    const { names } = newNames();
    names.declare('victim', ['victim.example']);
    t.throws(() => names.declare('mallory', [zone]), {
      ...TAKEN,
      message: /zone "victim.example" of account "victim"/,
    });
    t.is(names.ownerOf('victim.example'), 'victim');
  });
}

test('declare() knows a name and its encoded form as one', t => {
  const { names } = newNames();
  names.declare('victim', ['b\u00fccher.example']);
  t.is(names.ownerOf('xn--bcher-kva.example'), 'victim');
  t.throws(() => names.declare('mallory', ['XN--BCHER-KVA.example']), TAKEN);
});

test('declare() changes nothing when it throws', t => {
  const { names } = newNames();
  names.declare('victim', ['victim.example']);
  t.throws(() => names.declare('mallory', ['mallory.example', 'victim.example']), TAKEN);
  t.is(names.ownerOf('mallory.example'), undefined);
});

for (const zone of ['', '*', '*.', 'a b', 'a:80', 'a/b', '*.*.a', 'a.*']) {
  test(`declare() takes ${JSON.stringify(zone)} for no zone`, t => {
    t.throws(() => newNames().names.declare('acme', [zone]), { instanceOf: TypeError, message: /is not a host name/ });
  });
}

test('declare() refuses public suffixes of registries, and takes those that are private', t => {
  const { names } = newNames();
  for (const zone of ['com', 'co.uk', '*.co.uk', 'CO.UK.', 'xn--fiqs8s']) {
    t.throws(() => names.declare('acme', [zone]), { instanceOf: RangeError, message: /public suffix/ });
  }
  names.declare('acme', ['github.io']);
  t.is(names.ownerOf('a.github.io'), 'acme');
});

test('declare() refuses names that functions of another account serve', t => {
  const { names, load } = newNames();
  load('acme', 'shop', 'shop.example.com/*');
  t.throws(() => names.declare('mallory', ['example.com']), { ...TAKEN, message: /function "shop" of account "acme"/ });
  t.throws(() => names.declare('mallory', ['shop.example.com']), TAKEN);
  names.declare('other', ['other.example.com']);
});

// --- Routes of the application's code ---

test('check() refuses routes in the zone of another account, and names who has it', t => {
  const { names, load } = newNames();
  names.declare('victim', ['victim.example']);
  for (const host of [
    'victim.example',
    'www.victim.example',
    '*.victim.example',
    '*.www.victim.example',
    '*victim.example',
    '*-x.victim.example',
  ]) {
    for (const pattern of [`${host}/*`, `${host.toUpperCase()}/login`, `https://${host}/*`, `${host}:8080/*`]) {
      t.throws(
        () => load('mallory', 'evil', pattern),
        { ...TAKEN, message: /zone "victim.example" of account "victim"/ },
        pattern,
      );
    }
  }
  load('mallory', 'evil', 'notvictim.example/*', 'example/*');
});

test('check() refuses routes of the host of another account, which nobody has declared', t => {
  const { load } = newNames();
  load('acme', 'shop', 'example.com/shop/*');
  t.throws(() => load('mallory', 'evil', 'example.com/shop/login*'), {
    ...TAKEN,
    message: /function "shop" of account "acme"/,
  });
  t.throws(() => load('mallory', 'evil', 'EXAMPLE.com./*'), TAKEN);
  load('acme', 'other', 'example.com/other/*');
  load('mallory', 'fine', 'www.example.com/*', '*.example.com/*');
  t.throws(() => load('acme', 'shop', '*.example.com/*'), TAKEN);
});

test('check() refuses an account with zones what is beyond them', t => {
  const { names, load } = newNames();
  names.declare('acme', ['acme.example', '*.apps.example']);
  for (const pattern of [
    'other.example/*',
    '*/*',
    '*.example/*',
    '*acme.example/*',
    'apps.example/*',
    '*apps.example/*',
  ]) {
    t.throws(() => load('acme', 'f', pattern), { ...DENIED, message: /option zones/ }, pattern);
  }
  load(
    'acme',
    'f',
    'acme.example/*',
    '*.acme.example/*',
    '*-preview.acme.example/*',
    'a.apps.example/*',
    '*.apps.example/*',
  );
});

test('check() refuses all names of a public suffix', t => {
  const { load } = newNames();
  for (const pattern of ['*.co.uk/*', '*.com/', '*com/*'])
    t.throws(() => load('acme', 'f', pattern), { ...DENIED, message: /public suffix/ });
  load('acme', 'f', '*.acme.co.uk/*', 'co.uk/*');
});

test('names are free again when the last route for them is gone', t => {
  const { names, router, load } = newNames();
  load('acme', 'one', 'example.com/*');
  load('acme', 'two', 'example.com/two/*', '*.example.com/*');
  router.remove('one');
  t.is(names.ownerOf('example.com'), 'acme');
  router.remove('two');
  t.is(names.ownerOf('example.com'), undefined);
  t.is(names.ownerOf('www.example.com'), undefined);
  load('other', 'three', 'example.com/*');
});

test('find() takes routes of the owner of a name alone', t => {
  const { names, router, load } = newNames();
  names.declare('a', ['example.com']);
  names.declare('b', ['b.example.com']);
  load('a', 'all', '*.example.com/*');
  load('platform', 'any', '*/status');
  t.is(router.find('www.example.com', '/x')?.target, 'all');
  t.is(router.find('b.example.com', '/x'), undefined);
  t.is(router.find('x.b.example.com', '/x'), undefined);
  t.is(router.find('x.b.example.com', '/status'), undefined);
  t.is(router.find('nobody.example', '/status')?.target, 'any');
  load('b', 'own', 'b.example.com/*');
  t.is(router.find('b.example.com', '/x')?.target, 'own');
  t.is(router.find('B.example.com'.toLowerCase(), '/x')?.target, 'own');
});

test('find() gives an account its own names also by routes of any host', t => {
  const { router, load } = newNames();
  load('default', 'any', '*/notes/*');
  load('default', 'one', 'example.com/api/*');
  t.is(router.find('example.com', '/notes/a')?.target, 'any');
  t.is(router.find('example.com', '/api/a')?.target, 'one');
});

test('find() knows a host with a port and with a final dot', t => {
  const { names, router, load } = newNames();
  names.declare('victim', ['victim.example']);
  load('victim', 'v', 'victim.example/*', 'victim.example:8080/admin/*');
  load('mallory', 'any', '*/*');
  t.is(router.find('victim.example.', '/')?.target, 'v');
  t.is(router.find('victim.example.:81', '/')?.target, 'v');
  t.is(router.find('victim.example:8080', '/admin/')?.pattern, 'victim.example:8080/admin/*');
  t.is(router.find('victim.example:81', '/admin/')?.pattern, 'victim.example/*');
  t.is(router.find('www.victim.example', '/'), undefined);
  t.is(router.find('notvictim.example', '/')?.target, 'any');
});

test('find() orders routes by how specific they are', t => {
  const { router, load } = newNames();
  const patterns = [
    '*/*',
    '*example.com/*',
    '*.example.com/*',
    '*.a.example.com/*',
    'x.a.example.com/*',
    'x.a.example.com/p*',
    'x.a.example.com/p',
  ];
  for (const pattern of patterns) load('acme', pattern, pattern);
  const asked = ['other.test', 'notexample.com', 'b.example.com', 'b.a.example.com'];
  for (const [index, host] of asked.entries()) t.is(router.find(host, '/')?.target, patterns[index], host);
  t.is(router.find('x.a.example.com', '/')?.target, patterns[4]);
  t.is(router.find('x.a.example.com', '/pq')?.target, patterns[5]);
  t.is(router.find('x.a.example.com', '/p')?.target, patterns[6]);
});

test('compilePattern() takes the port that goes without saying for any way to leave it out', t => {
  const { router, load } = newNames();
  load('acme', 'f', 'example.com:443/*', '*:8443/*');
  t.is(router.find('example.com', '/')?.target, 'f');
  t.is(router.find('example.com:444', '/'), undefined);
  t.is(router.find('other.example:8443', '/')?.target, 'f');
  t.throws(() => compilePattern('example.com:65536/*'), { message: /port up to 65535/ });
});

// --- Zones of the management API ---

interface Case {
  readonly zone: string;
  readonly approval: ZoneApproval;
  readonly kind: 'taken' | 'denied' | 'public-suffix' | undefined;
}

const claim = test.macro({
  title: (_, { zone, approval, kind }: Case) =>
    `claimZone() ${kind === undefined ? 'gives' : 'refuses'} ${zone} with approval ${approval}`,
  exec: (t: ExecutionContext, { zone, approval, kind }: Case) => {
    const { names, load } = newNames();
    names.declare('declared', ['declared.example']);
    names.claimZone('victim', 'victim.co.uk', 'callback');
    load('carol', 'site', 'carol.example.com/*');
    const owner = names.ownerOf(zone);
    t.is(names.claimZone('mallory', zone, approval)?.kind, kind);
    t.is(names.ownerOf(zone), kind === undefined ? 'mallory' : owner);
  },
});
const approvals = ['owner', 'callback', 'none'] as const;
for (const approval of approvals) {
  test(claim, { zone: 'victim.co.uk', approval, kind: 'taken' });
  test(claim, { zone: 'co.uk', approval, kind: 'public-suffix' });
  test(claim, { zone: 'carol.example.com', approval, kind: 'taken' });
  test(claim, { zone: 'declared.example', approval, kind: 'taken' });
  test(claim, { zone: 'mallory.example', approval, kind: undefined });
}
for (const approval of ['callback', 'none'] as const) {
  test(claim, { zone: 'www.victim.co.uk', approval, kind: 'taken' });
  test(claim, { zone: 'example.com', approval, kind: 'taken' });
  test(claim, { zone: 'x.carol.example.com', approval, kind: undefined });
  test(claim, { zone: 'x.declared.example', approval, kind: 'taken' });
  test(claim, { zone: 'github.io', approval, kind: 'public-suffix' });
}
test(claim, { zone: 'www.victim.co.uk', approval: 'owner', kind: undefined });
test(claim, { zone: 'example.com', approval: 'owner', kind: undefined });
test(claim, { zone: 'github.io', approval: 'owner', kind: undefined });
test(claim, { zone: 'mallory.example', approval: 'declaration', kind: 'denied' });

test('claimZone() gives an account what is declared for it, though others have names in it', t => {
  const { names } = newNames();
  names.declare('a', ['example.com']);
  names.declare('b', ['b.example.com']);
  t.is(names.claimZone('a', 'example.com', 'declaration'), undefined);
  t.is(names.claimZone('b', 'b.example.com', 'declaration'), undefined);
  t.is(names.claimZone('b', 'c.b.example.com', 'declaration'), undefined);
  t.is(names.claimZone('a', 'a.b.example.com', 'declaration')?.kind, 'taken');
  names.releaseZone('a', 'example.com');
  t.is(names.ownerOf('www.example.com'), 'a');
});

test('releaseZone() gives a name free, and only to who has it', t => {
  const { names } = newNames();
  names.claimZone('a', 'a.example', 'callback');
  names.releaseZone('b', 'a.example');
  t.is(names.ownerOf('a.example'), 'a');
  names.releaseZone('a', 'a.example');
  t.is(names.claimZone('b', 'a.example', 'callback'), undefined);
});

test('declare() takes zones from accounts that nobody has allowed them, or that hold them by the API, and says so', t => {
  const { names, inactive } = newNames();
  names.claimZone('mallory', 'www.victim.example', 'none');
  names.claimZone('other', 'own.example', 'callback');
  names.declare('victim', ['victim.example', 'own.example']);
  t.is(names.ownerOf('www.victim.example'), 'victim');
  t.is(names.ownerOf('own.example'), 'victim');
  t.is(inactive.length, 2);
  t.regex(inactive.join('\n'), /zone "own.example" of account "other" is inactive: the zone is declared/);
  t.regex(inactive.join('\n'), /zone "www.victim.example" of account "mallory" is inactive/);
});

test('declare() confines an account also in the zones that nobody has allowed it', t => {
  const { names, inactive } = newNames();
  names.claimZone('mallory', 'example.com', 'none');
  names.declare('mallory', ['mallory.example']);
  t.is(names.ownerOf('example.com'), undefined);
  t.is(inactive.length, 1);
});

test('managedRouteRefusal() refuses what is in no zone of the account', t => {
  const { names } = newNames();
  const kind = (pattern: string) => names.managedRouteRefusal('acme', compilePattern(pattern))?.kind;
  names.claimZone('acme', 'acme.example', 'callback');
  names.declare('b', ['b.acme.example']);
  t.is(kind('acme.example/*'), undefined);
  t.is(kind('*.acme.example/*'), undefined);
  t.is(kind('b.acme.example/*'), 'taken');
  t.is(kind('*.b.acme.example/*'), 'taken');
  t.is(kind('other.example/*'), 'denied');
  t.is(kind('*/*'), 'denied');
});

test('releaseAccount() gives back what was declared and claimed', t => {
  const { names } = newNames();
  names.declare('a', ['a.example']);
  names.claimZone('a', 'b.example', 'owner');
  names.releaseAccount('a');
  t.is(names.ownerOf('a.example'), undefined);
  t.is(names.ownerOf('b.example'), undefined);
  names.declare('b', ['a.example', 'b.example']);
});
