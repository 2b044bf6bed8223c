import test from 'ava';
import { z } from 'zod';
import { compileTools } from '../../../../src/host/runs/tools/tool-set.js';

const run = (): void => {};
const set = compileTools({
  billing: {
    createInvoice: { description: 'Creates an invoice for a customer', run },
    listInvoices: { description: 'Lists invoices', input: z.object({ since: z.string().describe('a date') }), run },
    refund: { description: 'Pays money back', input: z.object({ invoiceId: z.string() }), run },
  },
  mail: { send: { description: 'Sends an e-mail to a customer', run }, archive: { run } },
  companies: { find: { run } },
});

const finds = test.macro({
  exec(t, text: string, ...names: string[]) {
    const found = set.search(text).match(/\w+(?=\(input)/g) ?? [];
    t.deepEqual([...found], names);
  },
  title: (_, text) => `search() finds the tools for ${JSON.stringify(text)}, best first`,
});

test(finds, 'create an invoice', 'createInvoice', 'listInvoices', 'refund');
test(finds, 'INVOICES since', 'listInvoices', 'createInvoice', 'refund');
test(finds, 'customer', 'createInvoice', 'send');
test(finds, 'arch', 'archive');
test(finds, 'company', 'find');
test(finds, 'the');
test(finds, 'unrelated');
test(finds, '');

test('search() gives declarations', t => {
  t.is(
    set.search('e-mail', 1),
    'declare const tools: {\n  readonly mail: {\n    /** Sends an e-mail to a customer */\n    send(input?: unknown): Promise<unknown>;\n  };\n};\n',
  );
  t.is(set.search('nothing'), '');
});

test("an attacker's long text is searched for its first words", t => {
  t.is(set.search(`archive ${'x '.repeat(1e6)}refund`), set.search('archive'));
});
