// The licences of the packages whose code is in a bundle: their texts have to go along with copies of it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE = /(?:^|\/)(node_modules\/(?:@[^/]+\/)?[^/]+)\//g;
const TEXT = /^(?:licen[cs]e|notice|copying)(?:-mit)?(?:\.(?:md|txt))?$/i;

/**
 * @param {readonly import('esbuild').Metafile[]} metafiles of the builds
 * @param {string} root what their paths are relative to
 * @param {readonly string[]} others the folders of packages whose text is in other files
 * @returns {string} a text with the licence of each package
 */
export function licensesOf(metafiles, root, others = []) {
  const folders = new Set(others);
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const last = [...path.matchAll(PACKAGE)].at(-1);
        if (last !== undefined && bytesInOutput > 0) folders.add(path.slice(0, last.index) + last[0].slice(0, -1));
      }
    }
  }
  const texts = [...folders].sort().map(folder => licenseOf(join(root, folder)));
  return `The files beside this one have code of these packages in them.\n\n${texts.join('\n')}`;
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder).filter(file => TEXT.test(file));
  // It may then not be bundled: it is to stay a dependency.
  if (texts.length === 0)
    throw new Error(`The package ${name} has no file with its licence, and cannot be in a bundle`);
  const whole = texts.sort().map(file => readFileSync(join(folder, file), 'utf8').trim());
  return `==== ${name} ${version} (${license})\n\n${whole.join('\n\n')}\n`;
}
