/** node:punycode. */
import punycode from 'punycode/punycode.es6.js';

export default punycode;
