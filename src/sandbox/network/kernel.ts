import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { toError } from '@picket/lib/errors.ts';

/** System calls for the networks of sandboxes. Failures are thrown as `SysError`. */
export interface Kernel {
  /** Hides this process's /proc files from other processes of its user, which could make it the first OOM victim. */
  hideProcess(): void;
  /** Moves the calling thread, and its future children, to a new network namespace. */
  leaveForNewNetwork(): void;
  /** Moves the calling thread to the network namespace of a descriptor. */
  enterNetwork(descriptor: number): void;
  /** Opens a descriptor that outlives the calling thread; `close` closes it. */
  open(path: string): number;
  close(descriptor: number): void;
  socket(domain: number, type: number, protocol: number): number;
  bind(descriptor: number, address: Buffer): void;
  listen(descriptor: number): void;
  setOption(descriptor: number, level: number, option: number, value: number): void;
  send(descriptor: number, data: Buffer, address?: Buffer): void;
  /** Reads from a non-blocking socket; undefined if no data is waiting. */
  receive(descriptor: number, into: Buffer): number | undefined;
  /** Opens a bell: a descriptor for `wait` that is readable once it was rung, until it is silenced. */
  openBell(): number;
  ring(bell: number): void;
  silence(bell: number): void;
  /** Waits in another thread until a descriptor is readable. This process cannot end before. */
  wait(descriptors: readonly number[]): Promise<void>;
}

/** A failed call of the C library. */
export class SysError extends Error {
  readonly code: string;

  constructor(call: string, errno: number) {
    const name = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0];
    super(`${call}: ${name ?? `errno ${errno}`}`);
    this.name = 'SysError';
    this.code = name ?? String(errno);
  }
}

export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
export const SOCK_STREAM = 1;
export const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const O_CLOEXEC = 0o2000000;
const PR_SET_DUMPABLE = 4;
const CLONE_NEWNET = 0x40000000;
const MSG_DONTWAIT = 0x40;
const EFD_NONBLOCK = 0o4000;
const EFD_CLOEXEC = 0o2000000;
const POLLIN = 1;
const pollEntryBytes = 8;

/** Hides this process from others of its user. @returns why that failed; undefined on success. */
export function hideThisProcess(): string | undefined {
  try {
    openKernel().hideProcess();
    return undefined;
  } catch (thrown) {
    return `when memory runs out, the kernel may kill the agent before the scripts: ${toError(thrown).message}`;
  }
}

/** @throws Error if koffi or a function is missing. */
export function openKernel(): Kernel {
  const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi');
  const libc = koffi.load('libc.so.6');
  const unshare = libc.func('int unshare(int)');
  const setns = libc.func('int setns(int, int)');
  const prctl = libc.func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
  const open = libc.func('int open(const char *, int)');
  const close = libc.func('int close(int)');
  const socket = libc.func('int socket(int, int, int)');
  const bind = libc.func('int bind(int, const void *, uint32_t)');
  const listen = libc.func('int listen(int, int)');
  const setsockopt = libc.func('int setsockopt(int, int, int, const void *, uint32_t)');
  const sendto = libc.func('intptr_t sendto(int, const void *, size_t, int, const void *, uint32_t)');
  const recv = libc.func('intptr_t recv(int, void *, size_t, int)');
  const poll = libc.func('int poll(void *, unsigned long, int)');
  const eventfd = libc.func('int eventfd(unsigned int, int)');
  const read = libc.func('intptr_t read(int, void *, size_t)');
  const write = libc.func('intptr_t write(int, const void *, size_t)');
  const one = Buffer.alloc(8);
  one.writeBigUInt64LE(1n);
  const checked = (call: string, result: number): number => {
    if (result < 0) throw new SysError(call, koffi.errno());
    return result;
  };
  return {
    hideProcess: () => void checked('prctl', prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)),
    leaveForNewNetwork: () => void checked('unshare', unshare(CLONE_NEWNET)),
    enterNetwork: (descriptor) => void checked('setns', setns(descriptor, CLONE_NEWNET)),
    open: (path) => checked('open', open(path, O_CLOEXEC)),
    close: (descriptor) => void close(descriptor),
    socket: (domain, type, protocol) =>
      checked('socket', socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol)),
    bind: (descriptor, address) => void checked('bind', bind(descriptor, address, address.length)),
    listen: (descriptor) => void checked('listen', listen(descriptor, 1024)),
    setOption(descriptor, level, option, value) {
      const bytes = Buffer.alloc(4);
      bytes.writeInt32LE(value);
      checked('setsockopt', setsockopt(descriptor, level, option, bytes, 4));
    },
    send: (descriptor, data, address) =>
      void checked('sendto', sendto(descriptor, data, data.length, 0, address ?? null, address?.length ?? 0)),
    receive(descriptor, into) {
      const count = Number(recv(descriptor, into, into.length, MSG_DONTWAIT));
      return count < 0 ? undefined : count;
    },
    openBell: () => checked('eventfd', eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
    ring: (bell) => void write(bell, one, one.length),
    silence: (bell) => void read(bell, Buffer.alloc(8), 8),
    wait: (descriptors) =>
      new Promise((resolve, reject) => {
        const entries = Buffer.alloc(descriptors.length * pollEntryBytes);
        descriptors.forEach((descriptor, index) => {
          entries.writeInt32LE(descriptor, index * pollEntryBytes);
          entries.writeInt16LE(POLLIN, index * pollEntryBytes + 4);
        });
        poll.async(entries, descriptors.length, -1, (error: unknown) => {
          if (error) reject(error);
          else resolve();
        });
      }),
  };
}
