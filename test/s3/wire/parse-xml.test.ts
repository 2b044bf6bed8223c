import test from 'ava';
import fc from 'fast-check';
import { parseXml } from '../../../src/s3/wire/parse-xml.js';
import { buildXml } from '../../../src/s3/wire/xml.js';

const parse = (text: string, elementsMax = 100) => parseXml(Buffer.from(text), 'Delete', elementsMax);

async function keysIn(text: string, elementsMax?: number): Promise<(string | undefined)[]> {
  return (await parse(text, elementsMax)).elements('Object').map(object => object.text('Key'));
}

test('parseXml() finds the elements of a document of many batches, in order, and what stands between them', async t => {
  const keys = Array.from({ length: 1000 }, (_, index) => `key ${index} ${'&<"🦊'.repeat(20)}`);
  const objects = keys.map(
    key => `<Object><Key>${key.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</Key></Object>`,
  );
  objects.splice(500, 0, '\n<Quiet>true</Quiet>');
  const root = await parse(`<?xml version="1.0"?>\n<Delete xmlns="x">${objects.join('\n')}</Delete>\n`, 3000);
  t.deepEqual(
    root.elements('Object').map(object => object.text('Key')),
    keys,
  );
  t.is(root.text('Quiet'), 'true');
});

test('parseXml() reads back what buildXml() writes', async t => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }), { minLength: 1, maxLength: 40 }),
      async keys => {
        const built = buildXml('Delete', { Object: keys.map(Key => ({ Key })) }, { isLossless: true });
        const read = (await parseXml(built, 'Delete', 100)).elements('Object').map(object => object.text('Key'));
        return JSON.stringify(read) === JSON.stringify(keys);
      },
    ),
    { numRuns: 200 },
  );
  t.pass();
});

test('parseXml() lets other work go on between batches', async t => {
  let turns = 0;
  let isFinished = false;
  const count = (): void => {
    turns++;
    if (!isFinished) setImmediate(count);
  };
  setImmediate(count);
  await parse(`<Delete>${`<Object><Key>${'k'.repeat(1000)}</Key></Object>`.repeat(200)}</Delete>`, 1000);
  isFinished = true;
  t.true(turns >= 10, `${turns} turns`);
});

test('parseXml() takes prefixes, a root without content, and white space', async t => {
  t.deepEqual(await keysIn('<s3:Delete xmlns:s3="x"><s3:Object><s3:Key>a</s3:Key></s3:Object ></s3:Delete >'), ['a']);
  t.deepEqual(await keysIn('<Delete/>'), []);
  t.deepEqual(await keysIn(' \n<Delete a="b">\n</Delete>\n '), []);
});

const object = '<Object><Key>a</Key></Object>';
for (const [title, text] of [
  ['nothing', ' '],
  ['text', 'Delete'],
  ['another root', `<Remove>${object}</Remove>`],
  ['a root that is not closed', `<Delete>${object}`],
  ['a root closed by another name', `<Delete>${object}</x:Delete>`],
  ['something behind the root', `<Delete>${object}</Delete>x`],
  ['two roots', `<Delete>${object}</Delete><Delete></Delete>`],
  ['an element that is not closed', `<Delete><Object><Key>a</Object></Delete>`],
  ['a document type', `<!DOCTYPE Delete><Delete>${object}</Delete>`],
  ['CDATA', '<Delete><Object><Key><![CDATA[a]]></Key></Object></Delete>'],
  ['a comment', `<Delete><!-- ${object} -->${object}</Delete>`],
  ['an endless element', `<Delete><Object><Key>${'k'.repeat(20_000)}</Key></Object></Delete>`],
  ['an attribute twice', `<Delete a="b" a="b">${object}</Delete>`],
  [
    'endless attributes',
    `<Delete ${Array.from({ length: 1000 }, (_, at) => `a${at}="b"`).join(' ')}>${object}</Delete>`,
  ],
  ['an entity of none of the five names', '<Delete><Object><Key>&nbsp;</Key></Object></Delete>'],
  ['an entity named like what objects inherit', '<Delete><Object><Key>&constructor;</Key></Object></Delete>'],
  ['an entity without end', `<Delete><Object><Key>&${'a'.repeat(100_000)}</Key></Object></Delete>`],
  ['a reference to half a character', '<Delete><Object><Key>&#xD800;</Key></Object></Delete>'],
  ['a reference past the last character', '<Delete><Object><Key>&#x110000;</Key></Object></Delete>'],
  ['an & that begins nothing', '<Delete><Object><Key>a & b</Key></Object></Delete>'],
  [
    'elements that nest deeper than there may be elements',
    `<Delete>${'<a>'.repeat(5000)}${'</a>'.repeat(5000)}</Delete>`,
  ],
  ['a declaration behind the start', `<Delete>${object}<?xml version="1.0"?></Delete>`],
  ['more elements than there may be', `<Delete>${'<a></a>'.repeat(5000)}</Delete>`],
  ['bytes that are no UTF-8', Buffer.from([0x3c, 0xff])],
] as const) {
  test(`parseXml() rejects ${title}`, async t => {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    await t.throwsAsync(parseXml(bytes, 'Delete', 4100), { name: 'S3Error', message: /.+/ });
  });
}

test('parseXml() keeps characters that XML cannot have, as they are and as references', async t => {
  const keys = ['\0', '\u0001', '\u001f', '\ufffe', '\uffff', '\r', '\n', '\t', '\u0085', '\u2028'];
  const references = keys.flatMap(key => {
    const code = key.charCodeAt(0);
    return [`&#${code};`, `&#x${code.toString(16)};`, `&#x00${code.toString(16).toUpperCase()};`];
  });
  const elements = references.map(reference => `<Object><Key>a${reference}b</Key></Object>`).join('');
  t.deepEqual(
    await keysIn(`<Delete>${elements}</Delete>`),
    keys.flatMap(key => Array.from({ length: 3 }, () => `a${key}b`)),
  );
  const raw = keys.filter(key => key !== '\r');
  t.deepEqual(await keysIn(`<Delete>${raw.map(key => `<Object><Key>${key}</Key></Object>`).join('')}</Delete>`), raw);
  // As line ends of XML are read.
  t.deepEqual(await keysIn('<Delete><Object><Key>a\r\nb\rc</Key></Object></Delete>'), ['a\nb\nc']);
});

test('elements() and text() find what is directly in an element, under its own name alone', async t => {
  const root = await parse(`<Delete><List>${object.repeat(3)}</List><__proto__>x</__proto__></Delete>`);
  t.deepEqual(root.elements('Object'), []);
  t.is(root.elements('List')[0]?.elements('Object').length, 3);
  t.deepEqual(root.names, ['List', '__proto__']);
  t.is(root.text('constructor'), undefined);
  t.throws(() => root.text('List'), { message: /must be text, once/ });
});

test('parseXml() decodes once: an escaped reference stays one', async t => {
  t.deepEqual(await keysIn('<Delete><Object><Key>&amp;lt;&amp;#x1;&lt;</Key></Object></Delete>'), ['&lt;&#x1;<']);
});

test('text() refuses text that is there twice, in one batch or in two', async t => {
  for (const between of ['', object.repeat(2000)]) {
    const root = await parse(`<Delete><Quiet>true</Quiet>${between}<Quiet>false</Quiet></Delete>`, 5000);
    t.throws(() => root.text('Quiet'), { message: /once/ });
  }
});
