/** The floor of computing: calls the exported function `work` of the module text in the first argument for each message. */
import process from 'node:process';
import { importText } from '../import-text.js';

const [source = ''] = process.argv.slice(2);
const { work } = await importText(source);
process.on('message', () => process.send?.({ answer: String(work?.()) }));
process.once('disconnect', () => process.exit(0));
process.send?.({ port: 0 });
