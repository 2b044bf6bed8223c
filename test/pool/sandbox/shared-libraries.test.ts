/** What an executable needs besides itself. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { interpreterOf, sharedLibraries } from '../../../src/pool/sandbox/shared-libraries.js';
import { onLinux } from '../../needs.js';

onLinux('sharedLibraries() has the loader of Node first, and every file of code that is in its memory', async t => {
  const libraries = await sharedLibraries(process.execPath);
  t.is(libraries[0], interpreterOf(process.execPath));
  for (const path of libraries) t.true(existsSync(path), path);
  const print = "process.stdout.write(require('node:fs').readFileSync('/proc/self/maps', 'latin1'))";
  const maps = execFileSync(process.execPath, ['--eval', print], { env: {} }).toString();
  const inMemory = new Set([...maps.matchAll(/ r-xp .* (\/.*)$/gm)].map(([, path = '']) => path));
  inMemory.delete(process.execPath);
  const real = new Set(libraries.map(path => execFileSync('readlink', ['-f', path]).toString().trim()));
  t.deepEqual(
    [...inMemory].filter(path => !real.has(path)),
    [],
  );
});

onLinux('sharedLibraries() is empty for an executable without a loader', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-elf-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  // The header of Node's own executable, with no program headers.
  const header = readFileSync(process.execPath).subarray(0, 64);
  const bytes = Buffer.from(header);
  bytes.writeUInt16LE(0, 56);
  const path = join(folder, 'static');
  writeFileSync(path, bytes);
  t.is(interpreterOf(path), undefined);
  t.deepEqual(await sharedLibraries(path), []);
});

onLinux('sharedLibraries() rejects for what is no executable of this kind', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-elf-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'script');
  for (const text of ['#!/bin/sh\n', '', '\x7fELF', '\x7fELF\x01\x01\x01']) {
    writeFileSync(path, text, 'latin1');
    await t.throwsAsync(sharedLibraries(path), { message: /is not a 64-bit little-endian ELF file/ });
  }
  await t.throwsAsync(sharedLibraries(join(folder, 'missing')), { code: 'ENOENT' });
});
