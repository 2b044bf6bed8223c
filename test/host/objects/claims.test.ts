/** Which application has the objects of a function, while versions of it come and go. */
import test from 'ava';
import { LiveObjectClaims } from '../../../src/bindings/objects/object-claims.js';
import { applicationClaims } from '../../../src/host/objects/application-claims.js';

const CHAT = { account: 'acme', functionName: 'chat' };

test('a claim is given back with the last version that has it, also by one whose claim comes late', async t => {
  const shared = new LiveObjectClaims();
  let arrive = (): void => {};
  const delayed = new Promise<void>(resolve => {
    arrive = resolve;
  });
  const here = applicationClaims(async () => shared);
  const there = applicationClaims(async () => shared);
  const late = applicationClaims(async () => {
    await delayed;
    return shared;
  });
  const [first, second, other] = [{}, {}, {}];
  await here.claim(CHAT, first);
  await here.claim(CHAT, second);
  here.release(CHAT, first);
  here.release(CHAT, first);
  here.release(CHAT, other);
  await new Promise(setImmediate);
  await t.throwsAsync(there.claim(CHAT, other), { code: 'EDGE_NOT_SUPPORTED' });
  here.release(CHAT, second);
  await new Promise(setImmediate);
  await there.claim(CHAT, other);
  // One that was refused has nothing to give back.
  await t.throwsAsync(here.claim(CHAT, first), { code: 'EDGE_NOT_SUPPORTED' });
  here.release(CHAT, first);
  await new Promise(setImmediate);
  t.false(await shared.claim('a third', CHAT));
  there.release(CHAT, other);
  await new Promise(setImmediate);
  // It was retired while its claim was on its way.
  const claiming = late.claim(CHAT, first);
  arrive();
  await claiming;
  late.release(CHAT, first);
  await new Promise(setImmediate);
  t.true(await shared.claim('a third', CHAT));
});
