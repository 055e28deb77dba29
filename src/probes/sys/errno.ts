import { constants } from 'node:os';

const nameByNumber = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** Returns the name of an error number, such as `EACCES`. */
export function errnoName(errno: number): string {
  return nameByNumber.get(errno) ?? `errno ${errno}`;
}

/** A failed system call. `code` is the name of its error number, as in Node's own errors. */
export class SysError extends Error {
  readonly code: string;
  readonly syscall: string;

  constructor(syscall: string, errno: number) {
    const code = errnoName(errno);
    super(`${syscall} ${code}`);
    this.name = 'SysError';
    this.code = code;
    this.syscall = syscall;
  }
}

/** Texts of the C library for errors of a send. */
const errnos: Readonly<Record<string, string>> = {
  'Network is unreachable': 'ENETUNREACH',
  'No route to host': 'EHOSTUNREACH',
  'Operation not permitted': 'EPERM',
  'Permission denied': 'EACCES',
  'Invalid argument': 'EINVAL',
  'No buffer space available': 'ENOBUFS',
  'Cannot allocate memory': 'ENOMEM',
  'Cannot assign requested address': 'EADDRNOTAVAIL',
  'Address family not supported by protocol': 'EAFNOSUPPORT',
  'Network is down': 'ENETDOWN',
  'Message too long': 'EMSGSIZE',
  'Resource temporarily unavailable': 'EAGAIN',
  'Too many open files': 'EMFILE',
};

/** Returns the error name for a text of the C library, such as `EPERM`; an unknown text is returned unchanged. */
export function errnoOfWords(words: string): string {
  return errnos[words.trim()] ?? words;
}
