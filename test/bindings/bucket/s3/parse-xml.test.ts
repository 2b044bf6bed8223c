import test from 'ava';
import fc from 'fast-check';
import { parseXml } from '../../../../src/bindings/bucket/s3/parse-xml.js';
import { buildXml } from '../../../../src/bindings/bucket/s3/xml.js';

const parse = (text: string, elementsMax = 100) => parseXml(Buffer.from(text), 'Delete', elementsMax);

async function keysIn(text: string, elementsMax?: number): Promise<(string | undefined)[]> {
  return (await parse(text, elementsMax)).elements('Object').map(object => object.text('Key'));
}

test('parseXml() finds the elements of a document of many batches, in order, and what stands between them', async t => {
  const keys = Array.from({ length: 1000 }, (_, index) => `key ${index} ${'&<"'.repeat(20)}`);
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
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await parse(`<Delete>${`<Object><Key>${'k'.repeat(1000)}</Key></Object>`.repeat(200)}</Delete>`, 1000);
  isOver = true;
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
  ['an element open across repeated ones', `<Delete><List>${object.repeat(2000)}</List></Delete>`],
  ['an element that is not closed', `<Delete><Object><Key>a</Object></Delete>`],
  ['a document type', `<!DOCTYPE Delete><Delete>${object}</Delete>`],
  ['CDATA', '<Delete><Object><Key><![CDATA[a]]></Key></Object></Delete>'],
  ['a comment', `<Delete><!-- ${object} -->${object}</Delete>`],
  ['an endless element', `<Delete><Object><Key>${'k'.repeat(20_000)}</Key></Object></Delete>`],
  ['endless attributes', `<Delete ${'a="b" '.repeat(1000)}>${object}</Delete>`],
  ['more elements than there may be', `<Delete>${'<a></a>'.repeat(5000)}</Delete>`],
  ['bytes that are no UTF-8', Buffer.from([0x3c, 0xff])],
] as const) {
  test(`parseXml() rejects ${title}`, async t => {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    await t.throwsAsync(parseXml(bytes, 'Delete', 4100), { name: 'S3Error', message: /.+/ });
  });
}

test('text() refuses text that is there twice, in one batch or in two', async t => {
  for (const between of ['', object.repeat(2000)]) {
    const root = await parse(`<Delete><Quiet>true</Quiet>${between}<Quiet>false</Quiet></Delete>`, 5000);
    t.throws(() => root.text('Quiet'), { message: /once/ });
  }
});
