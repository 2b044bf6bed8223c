/** The floor of computing: calls the exported function `work` of the module text in the first argument, with each message as arguments. */
import process from 'node:process';
import { importText } from '../subjects/import-text.js';

const [source = ''] = process.argv.slice(2);
const { work } = await importText(source);
process.on('message', async (message: readonly unknown[]) => {
  process.send?.({ answer: String(await work?.(...message)) });
});
process.once('disconnect', () => process.exit(0));
process.send?.({ port: 0 });
