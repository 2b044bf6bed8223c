/** Takes cells over: those that this process starts from then on run a program of the attacker, behind the same sandbox. */
import { type NativeProgram, programText, withProgram, withText } from './commands.js';
import { interceptCells } from './starts.js';

/** Replaces the main program of cells: by cell.ts unless another is given. Answers how to stop. */
export function hijackCells(native?: NativeProgram): () => void {
  const text = programText(new URL('./cell.js', import.meta.url));
  return interceptCells((command, start) =>
    start(native === undefined ? withText(command, text) : withProgram(command, native)),
  );
}
