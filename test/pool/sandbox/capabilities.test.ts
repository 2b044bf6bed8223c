import test from 'ava';
import { mayMakeNamespaces } from '../../../src/pool/sandbox/capabilities.js';

const statusWith = (effective: string): string => `Name:\tnode\nCapPrm:\t0\nCapEff:\t${effective}\nCapBnd:\t0\n`;

test('mayMakeNamespaces() needs both of the capabilities by which root makes namespaces with a network', t => {
  t.true(mayMakeNamespaces(statusWith('000001ffffffffff')));
  // The capabilities of a container of Docker, and with CAP_SYS_ADMIN and CAP_NET_ADMIN besides.
  t.false(mayMakeNamespaces(statusWith('00000000a80425fb')));
  t.false(mayMakeNamespaces(statusWith('00000000a82425fb')));
  t.true(mayMakeNamespaces(statusWith('00000000a82435fb')));
  t.false(mayMakeNamespaces(statusWith('0000000000000000')));
});

test('mayMakeNamespaces() is true where /proc does not say', t => {
  t.true(mayMakeNamespaces(''));
});
