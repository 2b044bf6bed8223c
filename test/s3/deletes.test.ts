import test from 'ava';
import { openDoor } from './endpoint.js';

test('DeleteObjects refuses XML that is not plain', async t => {
  const endpoint = await openDoor(t, { xmlBytes: 100_000 });
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  const object = (key: string) => `<Object><Key>${key}</Key></Object>`;
  const bodies: [string, string][] = [
    ['', 'MalformedXML'],
    ['<Delete></Delete>', 'MalformedXML'],
    ['<Delete><Object>', 'MalformedXML'],
    ['<Other><Object><Key>k</Key></Object></Other>', 'MalformedXML'],
    [`<!DOCTYPE Delete [<!ENTITY x "k">]><Delete>${object('&x;')}</Delete>`, 'MalformedXML'],
    [`<!DOCTYPE Delete SYSTEM "file:///etc/passwd"><Delete>${object('k')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('&x;')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('&#xD800;')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('<![CDATA[k]]>')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('k').repeat(1001)}</Delete>`, 'MalformedXML'],
    [`<Delete>${'<a/>'.repeat(10_000)}</Delete>`, 'MalformedXML'],
    [`<Delete>${'<a>'.repeat(10_000)}</Delete>`, 'MalformedXML'],
    [`<Delete>${'<Object>'.repeat(500)}${'</Object>'.repeat(500)}</Delete>`, 'MalformedXML'],
    ['<Delete><Object><Key>k</Key><Key>l</Key></Object></Delete>', 'MalformedXML'],
    ['<Delete><__proto__><Object><Key>k</Key></Object></__proto__></Delete>', 'MalformedXML'],
    [`<Delete>${object('')}</Delete>`, 'UserKeyMustBeSpecified'],
    ['<Delete><Object><Key>k</Key><VersionId>1</VersionId></Object></Delete>', 'NotImplemented'],
    ['<Delete><Object><Key>k</Key><ETag>1</ETag></Object></Delete>', 'NotImplemented'],
    [`<Delete>${object('k')}${' '.repeat(100_000)}</Delete>`, 'MaxMessageLengthExceeded'],
  ];
  for (const [body, code] of bodies) {
    const reply = await endpoint.send('POST', '/files?delete', { body });
    t.is(reply.code, code, body.slice(0, 80));
  }
  t.is(
    (
      await endpoint.send('POST', '/files?delete', {
        body: Buffer.from('<Delete><Object><Key>\xff</Key></Object></Delete>', 'latin1'),
      })
    ).code,
    'MalformedXML',
  );
  t.is((await endpoint.send('HEAD', '/files/k')).status, 200);
  t.deepEqual(endpoint.errors, []);
});

test('DeleteObjects answers a key that is too long for itself and deletes the others', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  const body = `<Delete><Object><Key>k</Key></Object><Object><Key>${'l'.repeat(1025)}</Key></Object></Delete>`;
  const reply = await endpoint.send('POST', '/files?delete', { body });
  t.regex(reply.text, /<Deleted><Key>k<\/Key><\/Deleted><Error><Key>l+<\/Key><Code>KeyTooLongError<\/Code>/);
  t.is((await endpoint.send('HEAD', '/files/k')).status, 404);
});

test('an answer is XML for strict parsers, whatever the keys; a listing has every character', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/a%01%0D%EF%BF%BEb', { body: 'x' });
  t.true((await endpoint.send('GET', '/files')).text.includes('<Key>a&#x1;&#xD;&#xFFFE;b</Key>'));
  const body = '<Delete><Object><Key>a&#1;&#13;&#xfffe;b</Key></Object></Delete>';
  const reply = await endpoint.send('POST', '/files?delete', { body });
  t.true(reply.text.includes('<Key>a\ufffd&#xD;\ufffdb</Key>'), reply.text);
  t.true((await endpoint.send('GET', '/files/a%01b')).text.includes('<Key>a\ufffdb</Key>'));
  t.false((await endpoint.send('GET', '/files')).text.includes('<Key>'));
});
