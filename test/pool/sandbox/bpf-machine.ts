/** Runs a seccomp program as the kernel does, by its bytes. */

interface Call {
  /** As `linux/audit.h` numbers them. */
  readonly architecture: number;
  readonly number: number;
  readonly arguments?: readonly (number | bigint)[];
}

/** What the program answers to the call. Throws for what the kernel's checker refuses: an unknown instruction, or an end without an answer. */
export function answerOf(program: Buffer, { architecture, number, arguments: given = [] }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  given.forEach((value, index) => {
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  });
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    const code = program.readUInt16LE(at * 8);
    const whenTrue = program.readUInt8(at * 8 + 2);
    const whenFalse = program.readUInt8(at * 8 + 3);
    const operand = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return operand;
    if (code === 0x20 && operand % 4 === 0 && operand < data.length) accumulator = data.readUInt32LE(operand);
    else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x15) at += accumulator === operand ? whenTrue : whenFalse;
    else if (code === 0x35) at += accumulator >= operand ? whenTrue : whenFalse;
    else throw new Error(`Instruction ${at} is unknown: ${code}, ${operand}`);
  }
  throw new Error('The program ends without an answer');
}
