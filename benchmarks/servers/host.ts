/** A host behind node:http, with the function whose source is the first argument. */
import process from 'node:process';
import { EdgeHost } from '../../src/index.js';
import { listen } from './listen.js';

const [source = ''] = process.argv.slice(2);
const host = new EdgeHost({ storage: ':memory:' });
const fn = await host.load(source);
listen(host.listener({ function: fn }), {
  children: () => host.health().cells.flatMap(({ pid }) => pid ?? []),
  close: () => host.close(),
});
