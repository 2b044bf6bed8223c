import type { Benchmark } from '../benchmark.js';
import { besideAttacks } from '../neighbours/attacks.js';
import { FLOODS, PROGRAMS } from '../neighbours/programs.js';
import { besideSpinning } from '../neighbours/spinning.js';

/** A function that spins, with a bare server beside a bare loop to compare with. */
const SPINNING = 'spinning';

export const neighbours: Benchmark = {
  name: 'neighbours',
  measures:
    'What good accounts notice of an offending one. First, calls one after the other while a function of another account spins. Then 20 good accounts, asked in turn at 200 requests a second, half of which compute and half put and get a byte, beside 4 functions of one account with 4 requests each that make the host work, or beside one whose cell was taken over and floods the host on one connection, once the code of the host for what it calls is compiled; latencies are counted from when a request was due.',
  floor:
    'the same in alternating slices without the offender; for the spinning function also a bare server beside a bare loop on this machine.',
  programs: [SPINNING, ...[...PROGRAMS, ...FLOODS].map(({ name }) => name)],
  async run(context) {
    const programs = context.programs;
    return [
      ...(programs.includes(SPINNING) ? await besideSpinning(context) : []),
      ...(await besideAttacks(context, programs)),
    ];
  },
};
