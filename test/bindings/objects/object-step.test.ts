/** Which calls of the storage of objects answers wait for. */
import test from 'ava';
import { objectStep } from '../../../src/bindings/objects/object-step.js';
import { STORAGE_HEAD_BYTES } from '../../../src/bindings/objects/storage-wire.js';

const ADDRESS = '{"c":"Room","i":"a"';

test('objectStep() recognizes writes, and the beginning of an instance', t => {
  const object = { className: 'Room', id: 'a' };
  t.deepEqual(objectStep('write', `${ADDRESS},"s":1,"q":0,"n":0}`), { ...object, isNew: false });
  t.deepEqual(objectStep('open', `${ADDRESS},"s":0}`), { ...object, isNew: true });
  t.is(objectStep('write', `${ADDRESS},"u":true}`), undefined, 'no answer waits for it');
});

for (const [method, args] of [
  ['', `${ADDRESS}}`],
  ['get', `${ADDRESS}}`],
  ['write', ''],
  ['write', '{'],
  ['write', 'null'],
  ['write', '[]'],
  ['write', '{"c":1,"i":"a"}'],
  ['write', '{"c":"Room"}'],
  ['write', `{"c":"${'x'.repeat(600)}","i":"a".repeat(64)}`],
  ['write', `${ADDRESS},"x":"${'x'.repeat(STORAGE_HEAD_BYTES)}"}`],
] as const) {
  test(`objectStep() takes ${JSON.stringify(method)} with ${JSON.stringify(args.slice(0, 30))} for no step`, t => {
    t.is(objectStep(method, args), undefined);
  });
}
