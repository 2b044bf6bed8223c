import { attack } from '../attack.js';

export default attack({
  tries: 'source URLs and source maps of files of the host',
  rules: ['R4', 'R10'],
  body: String.raw`
const error = new Error('mapped');
keep(error.stack);
if (/root:|\/work\/|node_modules/.test(String(error.stack))) fail('a path of the host');
//# sourceURL=file:///etc/passwd
//# sourceMappingURL=file:///etc/passwd
//# sourceMappingURL=data:application/json,{"version":3,"sources":["/etc/passwd"],"mappings":"AAAA"}
`,
});
