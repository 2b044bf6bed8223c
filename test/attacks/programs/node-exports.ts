import { attack } from '../attack.js';

export default attack({
  tries: "to reach the host by all that Node's modules export",
  rules: ['R6', 'R19'],
  body: `
const inputs = [['/etc/passwd'], [new Uint8Array(4), { __proto__: null, toString: 1 }, () => {}]];
for (const name of require('node:module').builtinModules) {
  const module = require(name);
  keep(module);
  for (const key of Reflect.ownKeys(module)) {
    let value;
    attempt(() => (value = module[key]));
    if (typeof value !== 'function' || key === 'exit' || key === 'abort') continue;
    for (const input of inputs) {
      attempt(() => keep(module[key](...input)));
      attempt(() => keep(new value(...input)));
    }
  }
}
attempt(() => keep(process.constructor.constructor('return this')()));
attempt(() => keep(process.mainModule, process.binding('fs'), process.dlopen({}, 'x')));
attempt(() => keep(require.cache, require.main, require('module')._load, require('vm').runInThisContext('this')));
`,
});
