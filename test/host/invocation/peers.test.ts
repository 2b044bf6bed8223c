/** The ends of calls between functions, and what they count of the objects that they pass. */
import test from 'ava';
import { Peer } from '../../../src/host/invocation/peers.js';
import { wideShare } from '../wide-share.js';

function peer(): { readonly peer: Peer; held(): number } {
  const share = wideShare();
  // All that a Peer reads of them.
  const context = { share, function: 'f' } as never;
  const isolate = { isUsable: true } as never;
  const accounting = { meter: () => ({}) as never, announced: () => undefined, id: () => 1 };
  return { peer: new Peer(context, isolate, accounting), held: () => share.bytes.held };
}

test('close() gives back all stubs, in whichever order the two ends are over', t => {
  for (const isOwnerFirst of [true, false]) {
    const [owner, holder] = [peer(), peer()];
    holder.peer.receive(owner.peer.share(1));
    t.true(owner.held() > 0 && holder.held() > 0);
    for (const each of isOwnerFirst ? [owner, holder] : [holder, owner]) each.peer.close();
    t.deepEqual([owner.held(), holder.held()], [0, 0]);
  }
});

test('share() keeps nothing of what an invocation sends that is over, and its object cannot be called', t => {
  const { peer: owner, held } = peer();
  owner.close();
  const object = owner.share(1);
  t.true(object.owner.isOver);
  t.is(held(), 0);
});
