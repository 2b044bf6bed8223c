/**
 * Classic BPF as the kernel takes it for seccomp: instructions with labels in, an array of `struct sock_filter` out
 * (https://docs.kernel.org/userspace-api/seccomp_filter.html). Plain bytes, so that no native code is needed to make a filter.
 */

/** BPF_LD | BPF_W | BPF_ABS, BPF_ALU | BPF_AND | BPF_K, BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JGE | BPF_K, BPF_RET | BPF_K. */
export const OPCODES = { load: 0x20, and: 0x54, jumpIfEqual: 0x15, jumpIfAtLeast: 0x35, return: 0x06 } as const;

/** Where the fields of `struct seccomp_data` begin, in bytes. Both supported machines are little-endian: the low half comes first. */
export const SECCOMP_DATA = { number: 0, architecture: 4, arguments: 16, argumentBytes: 8 } as const;

const INSTRUCTION_BYTES = 8;
/** BPF_MAXINSNS. */
const MAX_INSTRUCTIONS = 4096;
/** A conditional jump holds its distance in one byte. */
const MAX_DISTANCE = 255;

interface Instruction {
  readonly code: number;
  readonly operand: number;
  /** Labels; the next instruction when undefined. */
  readonly whenTrue?: string | undefined;
  readonly whenFalse?: string | undefined;
}

/** A program under construction. Jumps go forward only, as the kernel demands. */
export class BpfProgram {
  readonly #instructions: Instruction[] = [];
  readonly #labels = new Map<string, number>();

  /** Loads 32 bits of the data into the accumulator. */
  load(offset: number): void {
    this.#instructions.push({ code: OPCODES.load, operand: offset });
  }

  and(mask: number): void {
    this.#instructions.push({ code: OPCODES.and, operand: mask });
  }

  /** Goes to the label when the accumulator is another value, and on when it is this one. */
  unlessEqual(value: number, label: string): void {
    this.#instructions.push({ code: OPCODES.jumpIfEqual, operand: value, whenFalse: label });
  }

  /** Goes to the label when the accumulator, without a sign, is below the value. */
  unlessAtLeast(value: number, label: string): void {
    this.#instructions.push({ code: OPCODES.jumpIfAtLeast, operand: value, whenFalse: label });
  }

  return(action: number): void {
    this.#instructions.push({ code: OPCODES.return, operand: action });
  }

  /** The next instruction is where jumps to this label go. */
  label(name: string): void {
    if (this.#labels.has(name)) throw new RangeError(`Cannot place label "${name}" a second time`);
    this.#labels.set(name, this.#instructions.length);
  }

  /** Throws RangeError when a label is missing or lies behind or too far ahead, or when the program is too long for the kernel. */
  assemble(): Buffer {
    const { length } = this.#instructions;
    if (length === 0 || length > MAX_INSTRUCTIONS) {
      throw new RangeError(
        `Cannot assemble a program of ${length} instructions, the kernel takes 1 to ${MAX_INSTRUCTIONS}`,
      );
    }
    const bytes = Buffer.alloc(length * INSTRUCTION_BYTES);
    this.#instructions.forEach(({ code, operand, whenTrue, whenFalse }, index) => {
      const at = index * INSTRUCTION_BYTES;
      bytes.writeUInt16LE(code, at);
      bytes.writeUInt8(this.#distance(index, whenTrue), at + 2);
      bytes.writeUInt8(this.#distance(index, whenFalse), at + 3);
      bytes.writeUInt32LE(operand >>> 0, at + 4);
    });
    return bytes;
  }

  #distance(from: number, label: string | undefined): number {
    if (label === undefined) return 0;
    const target = this.#labels.get(label);
    const distance = target === undefined ? -1 : target - from - 1;
    if (target === undefined || target >= this.#instructions.length || distance < 0 || distance > MAX_DISTANCE) {
      throw new RangeError(
        `Cannot jump from instruction ${from} to label "${label}": it is missing, behind, or too far ahead`,
      );
    }
    return distance;
  }
}
