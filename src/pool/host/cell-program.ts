/** The program that runs as a cell. */
import { fileURLToPath } from 'node:url';
import { NODE_PATH } from '../node-path.js';
import { cellFlags } from '../sandbox/cell-flags.js';

export interface CellProgram {
  readonly command: string;
  readonly args: readonly string[];
}

/** Node with the main file of a cell. */
export function cellProgram(): CellProgram {
  const main = fileURLToPath(new URL('../cell/cell-main.bundle.cjs', import.meta.url));
  return { command: NODE_PATH, args: [...cellFlags(), main] };
}
