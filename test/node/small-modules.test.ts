import test from 'ava';
import { sameAsNode } from './same-as-node.js';

test('path, querystring and punycode answer as Node', async t => {
  await sameAsNode(
    t,
    `import path from 'node:path'; import { win32 } from 'path'; import posix from 'node:path/posix';
     import querystring from 'node:querystring'; import punycode from 'node:punycode';`,
    `print(path.posix === path, path.win32 === win32, posix === path, path.sep, win32.delimiter);
     const given = ['', '.', '/', '//', 'a', '/a', 'a/', '/a/b', '/a/b/', 'a//b', '/a/../..', './a/./b/..', '../a', 'a.txt', '.a', 'a.', 'a.b.c',
       '..', '...', '/a/..b', '//a', '/x/.y.z/'];
     for (const p of given) {
       print(p, path.normalize(p), path.dirname(p), path.basename(p), path.extname(p), path.isAbsolute(p), path.parse(p));
       print(path.join(p, '../c'), path.resolve('/r', p, 'q'), path.relative('/a/x', '/' + p), path.format(path.parse(p)));
     }
     const drives = ['', '.', '\\\\', '/', 'C:', 'C:\\\\', 'C:/a/b', 'C:a', 'c:\\\\a\\\\..\\\\b\\\\', '\\\\\\\\server\\\\share\\\\x', 'a/b', '..\\\\a', 'C:\\\\a.b.c',
       '\\\\a\\\\b'];
     for (const p of drives) {
       print(p, win32.normalize(p), win32.dirname(p), win32.basename(p), win32.extname(p), win32.isAbsolute(p), win32.parse(p));
       print(win32.join(p, 'x', '..', 'y'), win32.resolve('C:\\\\r', p), win32.relative('C:\\\\a', 'C:\\\\' + p.replace(/^.:/, '')));
       print(win32.toNamespacedPath('C:\\\\a'));
     }
     print(path.basename('a.html', '.html'), path.basename('html', 'html'), path.format({ name: 'x', ext: 'y' }));
     attempt(() => path.join(1)); attempt(() => path.resolve('a', null)); attempt(() => path.format('a')); attempt(() => path.basename('a', 1));
     for (const text of ['a=1&b=2&a=3', 'a', '&&a==b', 'a=%E4%BD%A0+x', 'a=%zz%41', '=v', 'a[]=1', '%F0%9F', '__proto__=1']) {
       const fields = querystring.parse(text);
       print(fields, Object.getPrototypeOf(fields), querystring.stringify(fields));
     }
     print(querystring.parse('a:1;b:2;c:3', ';', ':', { maxKeys: 2 }), querystring.stringify({ a: [1, 'x y', true, null], b: NaN, c: {}, d: 5n }));
     print(querystring.escape("a b&c'(é)"), querystring.unescape('%41%zz'), querystring.stringify('x'), querystring.unescapeBuffer('%41b').toString());
     attempt(() => querystring.escape('\\ud800'));
     print(punycode.toASCII('mañana.com'), punycode.toUnicode('xn--maana-pta.com'), punycode.ucs2.decode('a😀'), punycode.encode('ü'));`,
  );
});

test('url answers as Node', async t => {
  await sameAsNode(
    t,
    "import url, { URL as NodeURL, fileURLToPath, pathToFileURL } from 'node:url';",
    `print(NodeURL === URL, url.URLSearchParams === URLSearchParams);
     for (const text of ['http://user:pass@host.com:8080/p/a/t/h?query=string#hash', '/a?b=c', '//host/path', 'mailto:a@b.c', 'HTTP://Host/%20x y', 'x', '',
       'http://a.com?x#y', 'javascript:alert(1)', 'http://[::1]:3000/x']) {
       const parsed = url.parse(text);
       print(parsed, url.format(parsed));
       print(url.parse(text, true).query);
     }
     print(url.parse('//host/path', false, true).host);
     print(url.resolve('/one/two/three', 'four'), url.resolve('http://example.com/', '/one'), url.resolve('http://example.com/one', '../two'));
     print(url.format({ protocol: 'https', hostname: 'x.y', pathname: 'a', query: { b: [1, 2] } }));
     const full = new URL('https://測試:p@xn--g6w251d/x?y#z');
     print(url.format(full), url.format(full, { unicode: true, auth: false, fragment: false, search: false }));
     print(url.domainToASCII('español.com'), url.domainToUnicode('xn--espaol-zwa.com'), url.domainToASCII('xn--iñvalid.com'));
     print(fileURLToPath('file:///a/b%20c'), fileURLToPath(new URL('file:///C:/x/y'), { windows: true }));
     print(pathToFileURL('/a b#?%').href, pathToFileURL('/x/').href, pathToFileURL('/tmp/é').href);
     attempt(() => fileURLToPath('http://x/')); attempt(() => fileURLToPath('file:///a%2fb')); attempt(() => fileURLToPath(1)); attempt(() => pathToFileURL(1));
     const options = url.urlToHttpOptions(new URL('http://a:b@[::1]:81/p?q#h'));
     print(options.hostname, options.port, options.path, options.auth, options.protocol, Object.getPrototypeOf(options));`,
  );
});
