/**
 * A host behind node:http, with the function whose source is the first argument; with `cache` as the second, and a cache in front of it; `loopback` as the
 * second lets it reach this machine.
 */
import process from 'node:process';
import { EdgeHost } from '../../src/index.js';
import { listen } from './listen.js';

const [source = '', setting = ''] = process.argv.slice(2);
const host = new EdgeHost({ storage: ':memory:', egress: { allow: setting === 'loopback' ? ['127.0.0.0/8'] : [] } });
const fn = await host.load(source);
const listener = host.listener({ function: fn, cache: setting === 'cache' });
listen(listener, {
  upgrade: listener.upgrade,
  children: () => host.health().cells.flatMap(({ pid }) => pid ?? []),
  close: () => host.close(),
});
