// Refuses to publish while package.json has addresses that are none: those of `.invalid`, which stand for what is set when the package is published.
import { readFileSync } from 'node:fs';

const { homepage, bugs, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const addresses = {
  homepage,
  bugs: typeof bugs === 'object' ? bugs?.url : bugs,
  repository: typeof repository === 'object' ? repository?.url : repository,
};
const unset = Object.entries(addresses).filter(([, address]) => {
  const url = String(address).replace(/^git\+/, '');
  return !URL.canParse(url) || new URL(url).hostname === '' || /(?:^|\.)invalid$/.test(new URL(url).hostname);
});
if (unset.length > 0) {
  const list = unset.map(([name, address]) => `${name} is ${JSON.stringify(address)}`).join(', ');
  console.error(
    `Not to be published: in package.json ${list}. Set the addresses of the project (CONTRIBUTING.md, To publish).`,
  );
  process.exitCode = 1;
}
