import test from 'ava';

import { AddressPolicy, isPublic } from '../../../src/bindings/egress/address-policy.js';

const NOT_PUBLIC: readonly (readonly [string, string])[] = [
  ['the unspecified address, which reaches the local host', '0.0.0.0'],
  ['the rest of 0.0.0.0/8', '0.1.2.3'],
  ['10.0.0.0/8', '10.255.255.255'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['metadata behind carrier-grade NAT', '100.100.100.200'],
  ['loopback', '127.0.0.1'],
  ['the end of loopback', '127.255.255.254'],
  ['metadata', '169.254.169.254'],
  ['a cloud host agent', '168.63.129.16'],
  ['172.16.0.0/12', '172.31.255.255'],
  ['metadata in 192.0.0.0/24', '192.0.0.192'],
  ['192.168.0.0/16', '192.168.1.1'],
  ['benchmarking', '198.19.0.1'],
  ['documentation', '203.0.113.7'],
  ['multicast', '224.0.0.1'],
  ['reserved', '250.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['IPv6 unspecified', '::'],
  ['IPv6 loopback', '::1'],
  ['IPv6 loopback written out', '0:0:0:0:0:0:0:1'],
  ['unique-local', 'fd00:ec2::254'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%lo'],
  ['site-local', 'fec0::1'],
  ['IPv6 multicast', 'ff02::1'],
  ['IPv6 documentation', '2001:db8::1'],
  ['6to4 of a private address', '2002:a00:1::1'],
  ['6to4 of a public address', '2002:808:808::1'],
  ['Teredo', '2001:0:808:808::1'],
  ['ORCHID', '2001:20::1'],
  ['discard-only', '100::1'],
  ['segment routing', '5f00::1'],
  ['local NAT64', '64:ff9b:1::808:808'],
  ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
  ['IPv4-mapped loopback in hex', '::ffff:7f00:1'],
  ['IPv4-mapped metadata written out', '0:0:0:0:0:ffff:a9fe:a9fe'],
  ['IPv4-translated loopback', '::ffff:0:127.0.0.1'],
  ['IPv4-compatible loopback', '::127.0.0.1'],
  ['NAT64 of a private address', '64:ff9b::10.0.0.1'],
  ['NAT64 of metadata', '64:ff9b::a9fe:a9fe'],
];

for (const [what, address] of NOT_PUBLIC) {
  test(`allows() refuses ${what} (${address})`, t => {
    t.false(new AddressPolicy().allows(address));
  });
}

for (const address of [
  '8.8.8.8',
  '1.1.1.1',
  '100.63.255.255',
  '100.128.0.1',
  '172.32.0.1',
  '11.0.0.1',
  '2606:4700::1',
]) {
  test(`allows() allows the public address ${address}`, t => {
    t.true(new AddressPolicy().allows(address));
    t.true(isPublic(address));
  });
}

test('allows() allows public addresses in their NAT64 and IPv4-mapped forms', t => {
  const policy = new AddressPolicy();
  t.true(policy.allows('64:ff9b::8.8.8.8'));
  t.true(policy.allows('64:ff9b::808:808'));
  t.true(policy.allows('::ffff:8.8.8.8'));
});

test('allows() refuses what is no address', t => {
  const policy = new AddressPolicy({ allow: ['0.0.0.0/0', '::/0'] });
  for (const text of ['', 'localhost', '127.1', '0x7f000001', '2130706433', '127.0.0.1 ', ':::', '1.2.3.4%lo']) {
    t.false(policy.allows(text), text);
  }
});

test('allows() allows what the allow list adds, also in its IPv4-mapped form', t => {
  const policy = new AddressPolicy({ allow: ['10.1.0.0/16', 'fd00::1', '127.0.0.1'] });
  t.true(policy.allows('10.1.2.3'));
  t.true(policy.allows('::ffff:10.1.2.3'));
  t.true(policy.allows('fd00::1'));
  t.true(policy.allows('127.0.0.1'));
  t.false(policy.allows('10.2.0.1'));
  t.false(policy.allows('fd00::2'));
  t.false(policy.allows('127.0.0.2'));
});

test('allows() refuses what the deny list takes away, whatever the allow list says', t => {
  const policy = new AddressPolicy({ allow: ['10.0.0.0/8'], deny: ['10.1.0.0/16', '8.8.8.0/24', '2606:4700::/32'] });
  t.false(policy.allows('10.1.0.1'));
  t.true(policy.allows('10.2.0.1'));
  t.false(policy.allows('8.8.8.8'));
  t.false(policy.allows('::ffff:8.8.8.8'));
  t.false(policy.allows('64:ff9b::8.8.8.8'));
  t.false(policy.allows('2606:4700::1'));
});

test('allows() allows the allow list alone when publicInternet is false', t => {
  const policy = new AddressPolicy({ publicInternet: false, allow: ['8.8.8.8'] });
  t.true(policy.allows('8.8.8.8'));
  t.false(policy.allows('1.1.1.1'));
});

test("allows() refuses the machine's own addresses though they are public, unless they are listed", t => {
  const ownAddresses = () => ['8.8.8.8', '2606:4700::1', 'fe80::1%eth0', '127.0.0.1'];
  const policy = new AddressPolicy({ ownAddresses });
  for (const address of ['8.8.8.8', '2606:4700::1', '2606:4700:0::1', '::ffff:8.8.8.8'])
    t.false(policy.allows(address));
  t.true(policy.allows('8.8.4.4'));
  t.true(new AddressPolicy({ ownAddresses, allow: ['8.8.8.8'] }).allows('8.8.8.8'));
});

for (const entry of [
  '',
  '10.0.0.0/33',
  '10.0.0/8',
  'fd00::/129',
  'example.com',
  '10.0.0.0/8/8',
  '10.0.0.0/',
  'fe80::1%lo',
]) {
  test(`new AddressPolicy() throws when a list has ${JSON.stringify(entry)}`, t => {
    t.throws(() => new AddressPolicy({ allow: [entry] }), { instanceOf: TypeError, message: /egress\.allow/ });
    t.throws(() => new AddressPolicy({ deny: [entry] }), { instanceOf: TypeError, message: /egress\.deny/ });
  });
}
