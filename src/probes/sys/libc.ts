import { toError } from '@picket/lib/errors.ts';
import type koffiModule from 'koffi';
import { nativeLoad } from './native-loads.ts';

/**
 * The few functions of the C library that Node does not expose. Numbers and structures are those of Linux on x64 and
 * arm64 (LP64, little endian; both use the kernel's generic ABI, glibc and musl agree on it).
 *
 * As in C, a negative result means failure, and `errno()` right after it returns the reason.
 */
export interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  setsockopt(descriptor: number, level: number, option: number, value: Buffer, sizeBytes: number): number;
  /** `sizeBytes` is a `socklen_t`: on entry the size of `value`, on return the bytes used. */
  getsockopt(descriptor: number, level: number, option: number, value: Buffer, sizeBytes: Buffer): number;
  bind(descriptor: number, address: Buffer, addressSizeBytes: number): number;
  connect(descriptor: number, address: Buffer, addressSizeBytes: number): number;
  sendto(
    descriptor: number,
    data: Buffer,
    sizeBytes: number,
    flags: number,
    address: Buffer,
    addressSizeBytes: number,
  ): number;
  /** `header` is a `struct msghdr`; see message.ts. */
  recvmsg(descriptor: number, header: Buffer, flags: number): number;
  /** `headers` holds `count` `struct mmsghdr`s; see message.ts. */
  recvmmsg(descriptor: number, headers: Buffer, count: number, flags: number, timeout: null): number;
  /** `descriptors` holds `struct pollfd`s. Blocks the thread. */
  poll(descriptors: Buffer, count: number, timeoutMs: number): number;
  epollCreate(flags: number): number;
  /** `event` is a `struct epoll_event`; see epoll.ts. */
  epollControl(epoll: number, operation: number, descriptor: number, event: Buffer): number;
  /** Blocks the thread. */
  epollWait(epoll: number, events: Buffer, maxEvents: number, timeoutMs: number): number;
  ioctl(descriptor: number, request: number, argument: Buffer): number;
  eventfd(initial: number, flags: number): number;
  read(descriptor: number, data: Buffer, sizeBytes: number): number;
  write(descriptor: number, data: Buffer, sizeBytes: number): number;
  dup3(from: number, to: number, flags: number): number;
  close(descriptor: number): number;
  clockGettime(clock: number, time: Buffer): number;
  clockGetres(clock: number, step: Buffer): number;
  /** A system call without a C library function; see kernel-thread/scheduling.ts. */
  syscall(call: number, id: number, argument: Buffer, flags: number): number;
  errno(): number;
  /** The address of a buffer's memory, for structures that point to others. The caller must keep the buffer alive. */
  addressOf(buffer: Buffer): bigint;
}

/** System calls are not available on this host; the message says what is missing. */
export class SysUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SysUnavailable';
  }
}

const architectures: readonly string[] = ['x64', 'arm64'];

/**
 * Loads the functions through koffi, a native module that is only needed here.
 *
 * @throws SysUnavailable except on Linux x64 and arm64, and if koffi or one of the functions is missing.
 */
export async function loadLibc(): Promise<Libc> {
  const koffi = await loadKoffi();
  try {
    return await nativeLoad(() => bind(koffi));
  } catch (thrown) {
    throw new SysUnavailable(`functions missing in the C library: ${firstLine(thrown)}`, thrown);
  }
}

/**
 * Loads koffi, which calls functions of the C library.
 *
 * @throws SysUnavailable except on Linux x64 and arm64, and if koffi is missing.
 */
export async function loadKoffi(): Promise<typeof koffiModule> {
  if (process.platform !== 'linux' || !architectures.includes(process.arch)) {
    const host = `${process.platform}-${process.arch}`;
    throw new SysUnavailable(`system calls are available on Linux x64 and arm64 only; this is ${host}`);
  }
  try {
    return (await nativeLoad(() => import('koffi'))).default;
  } catch (thrown) {
    throw new SysUnavailable(`the native module koffi cannot be loaded: ${firstLine(thrown)}`, thrown);
  }
}

function bind(koffi: typeof koffiModule): Libc {
  // The program itself is linked to the C library, whatever the library's file is called.
  const program = koffi.load(null);
  return {
    socket: program.func('int socket(int, int, int)'),
    setsockopt: program.func('int setsockopt(int, int, int, const void *, uint32_t)'),
    getsockopt: program.func('int getsockopt(int, int, int, void *, void *)'),
    bind: program.func('int bind(int, const void *, uint32_t)'),
    connect: program.func('int connect(int, const void *, uint32_t)'),
    sendto: program.func('long sendto(int, const void *, size_t, int, const void *, uint32_t)'),
    recvmsg: program.func('long recvmsg(int, void *, int)'),
    recvmmsg: program.func('int recvmmsg(int, void *, unsigned int, int, void *)'),
    poll: program.func('int poll(void *, unsigned long, int)'),
    epollCreate: program.func('int epoll_create1(int)'),
    epollControl: program.func('int epoll_ctl(int, int, int, void *)'),
    epollWait: program.func('int epoll_wait(int, void *, int, int)'),
    ioctl: program.func('int ioctl(int, unsigned long, void *)'),
    eventfd: program.func('int eventfd(unsigned int, int)'),
    read: program.func('long read(int, void *, size_t)'),
    write: program.func('long write(int, const void *, size_t)'),
    dup3: program.func('int dup3(int, int, int)'),
    close: program.func('int close(int)'),
    clockGettime: program.func('int clock_gettime(int, void *)'),
    clockGetres: program.func('int clock_getres(int, void *)'),
    syscall: program.func('long syscall(long, long, void *, long)'),
    errno: () => koffi.errno(),
    addressOf: (buffer) => koffi.address(buffer),
  };
}

function firstLine(thrown: unknown): string {
  return toError(thrown).message.split('\n', 1)[0] ?? '';
}
