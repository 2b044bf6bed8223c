/** WebSockets that an object has accepted to sleep: what it receives, what it sends, and what outlasts the instance. */
import { once } from 'node:events';
import test from 'ava';
import { closed, connected, nextMessage } from '../../ingress/websocket/servers.js';
import { ISOLATIONS, nextLog } from '../../new-host.js';
import { sleepRig } from './sleeping.js';

for (const isolation of ISOLATIONS) {
  test(`messages, tags, attachments and closes reach the object (${isolation})`, async t => {
    const { host, url } = await sleepRig(t, { host: { isolation } });
    const ann = await connected(t, `${url}/a?name=ann&tag=x&tag=y`);
    const bob = await connected(t, `${url}/a?name=bob&tag=y`);
    ann.send('echo ü\ud83d\ude00');
    t.is(await nextMessage(ann), 'ü\ud83d\ude00');
    ann.send('tags');
    t.is(await nextMessage(ann), '["x","y"]');
    for (const count of [1, 2]) {
      ann.send('count');
      t.is(await nextMessage(ann), `{"name":"ann","count":${count}}`);
    }
    const both = [nextMessage(ann), nextMessage(bob)];
    bob.send('all y');
    t.deepEqual(await Promise.all(both), ['to ann', 'to bob']);
    bob.send('put value');
    t.is(await nextMessage(bob), 'value');
    for (const size of [0, 1, 100_000, 3_000_000]) {
      const bytes = Buffer.alloc(size, 7);
      ann.send(bytes);
      const [data, isBinary] = await once(ann, 'message');
      t.true(isBinary);
      t.true(bytes.equals(data));
    }
    const log = nextLog(host, 'rooms');
    bob.close(4003, 'gone');
    await closed(bob);
    t.deepEqual(JSON.parse(await log), ['close', 'bob', 4003, 'gone', true, 3, 1]);
    const end = closed(ann);
    ann.send('close');
    t.deepEqual(await end, { code: 4001, reason: 'asked' });
  });
}
