import test from 'ava';
import { guestModules } from './guest-modules.js';

interface Modules {
  scope: { leaveGlobalScope(): void; requireHandler(what: string): void };
}

const newRealm = await guestModules<Modules>('scope');

test('requireHandler() throws in the global scope, and says what is not allowed there', t => {
  const { scope } = newRealm().modules;
  const error = t.throws(() => scope.requireHandler('FILES.get()'), { any: true });
  t.regex(String(error), /^Error: FILES\.get\(\) is not allowed in the global scope of a function/);
});

test('requireHandler() allows everything once the global scope has been left', t => {
  const { scope } = newRealm().modules;
  scope.leaveGlobalScope();
  t.notThrows(() => scope.requireHandler('FILES.get()'));
});
