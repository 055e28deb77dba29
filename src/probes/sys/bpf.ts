import type { Libc } from './libc.ts';
import { SO_ATTACH_FILTER, SOL_SOCKET } from './linux.ts';

/** One step of a classic BPF program (`struct sock_filter`), by which the kernel decides what a socket receives. */
export interface Step {
  readonly code: number;
  readonly k: number;
  readonly jumpTrue?: number;
  readonly jumpFalse?: number;
}

// linux/bpf_common.h
export const word = (offset: number): Step => ({ code: 0x20, k: offset });
export const half = (offset: number): Step => ({ code: 0x28, k: offset });
export const byte = (offset: number): Step => ({ code: 0x30, k: offset });
/** The same, relative to the end of the IP header; X holds its length. */
export const wordAfterIp = (offset: number): Step => ({ code: 0x40, k: offset });
export const halfAfterIp = (offset: number): Step => ({ code: 0x48, k: offset });
export const byteAfterIp = (offset: number): Step => ({ code: 0x50, k: offset });
export const and = (mask: number): Step => ({ code: 0x54, k: mask });
export const jumpIfEqual = (value: number, jumpTrue: number, jumpFalse: number): Step => ({
  code: 0x15,
  k: value,
  jumpTrue,
  jumpFalse,
});
export const returnAccumulator: Step = { code: 0x16, k: 0 };
export const returnNothing: Step = { code: 0x06, k: 0 };
export const returnWhole: Step = { code: 0x06, k: 0xffff_ffff };
/** Sets X to the length of the IPv4 header at the start. */
export const measureIpv4Header: Step = { code: 0xb1, k: 0 };
export const setIpHeaderLength = (sizeBytes: number): Step => ({ code: 0x01, k: sizeBytes });
export const addIpHeaderLength: Step = { code: 0x0c, k: 0 };
export const add = (sizeBytes: number): Step => ({ code: 0x04, k: sizeBytes });
export const shiftRight = (bits: number): Step => ({ code: 0x74, k: bits });
export const copyIpHeaderLength: Step = { code: 0x87, k: 0 };

const stepBytes = 8;

export function bpfProgram(steps: readonly Step[]): Buffer {
  const program = Buffer.alloc(steps.length * stepBytes);
  for (const [index, { code, k, jumpTrue = 0, jumpFalse = 0 }] of steps.entries()) {
    const at = index * stepBytes;
    program.writeUInt16LE(code, at);
    program.writeUInt8(jumpTrue, at + 2);
    program.writeUInt8(jumpFalse, at + 3);
    program.writeUInt32LE(k, at + 4);
  }
  return program;
}

/**
 * Replaces the filter of a socket for future packets; packets already queued stay.
 *
 * @returns 0, or -1 with `libc.errno()`.
 */
export function attachFilter(libc: Libc, descriptor: number, program: Buffer): number {
  // struct sock_fprog
  const argument = Buffer.alloc(16);
  argument.writeUInt16LE(program.length / stepBytes, 0);
  argument.writeBigUInt64LE(libc.addressOf(program), 8);
  return libc.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, argument, argument.length);
}
