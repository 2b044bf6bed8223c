import { attack } from '../attack.js';

export default attack({
  tries: 'an HTML comment that ends on the first line of a classic script',
  rules: ['R12'],
  script: `
/*
*/--> import('node:fs')
addEventListener('fetch', event => event.respondWith(report()));
`,
});
