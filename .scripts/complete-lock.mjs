// Adds to package-lock.json the optional packages of other platforms that npm has left out of it (npm/cli#4828), without which `npm ci`
// refuses the file. Run it after each `npm install` that changes the lock; a test says when it is needed.
import { readFileSync, writeFileSync } from 'node:fs';

const SYSTEMS = {
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  openharmony: 'openharmony',
  win32: 'win32',
};
const CPUS = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 's390x', 'riscv64', 'loong64', 'mips64el'];

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const added = [];
for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (path === '' || isLocked(path, name)) continue;
    const place = `node_modules/${name}`;
    if (!/^\d+\.\d+\.\d+$/.test(version))
      throw new Error(`${path} wants ${name}@${version}, which is no exact version`);
    lock.packages[place] = { version, ...platformOf(name), ...(dev && { dev }), optional: true };
    added.push(`${name}@${version}`);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
console.log(added.length === 0 ? 'The lock is complete.' : `Added ${added.join(', ')}`);

/** Whether the package is found from `path` upwards, as a nested install or at the top. */
function isLocked(path, name) {
  for (let folder = path; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in lock.packages) return true;
    if (folder === '') return false;
  }
}

/** Platform packages carry theirs in their names: cli-darwin-arm64, core-linux-arm-gnueabihf. */
function platformOf(name) {
  const words = name.split('/').at(-1).split('-');
  const os = words.map(word => SYSTEMS[word]).find(Boolean);
  const cpu = words.find(word => CPUS.includes(word));
  if (os === undefined || cpu === undefined) throw new Error(`The platform of ${name} cannot be told from its name`);
  return {
    cpu: [cpu],
    ...(words.some(word => word.startsWith('musl')) && { libc: ['musl'] }),
    ...(words.some(word => word.startsWith('gnu')) && os === 'linux' && { libc: ['glibc'] }),
    os: [os],
  };
}
