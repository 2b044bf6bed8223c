/** Every program of test/attacks/programs. */
import { readdirSync } from 'node:fs';
import type { Attack } from './attack.js';

const folder = new URL('./programs/', import.meta.url);
const files = readdirSync(folder).filter(name => name.endsWith('.js'));

export const ATTACKS: readonly Attack[] = await Promise.all(
  files.map(async (name): Promise<Attack> => (await import(new URL(name, folder).href)).default),
);
