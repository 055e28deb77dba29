import { constants } from 'node:os';

const nameByNumber = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));

/** The name of an error number, such as `EACCES`. */
export function errnoName(errno: number): string {
  return nameByNumber.get(errno) ?? `errno ${errno}`;
}

/** A system call that failed. `code` is the name of its error number, as in Node's own errors. */
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

/** Words of the C library for errors that a send can meet. */
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

/**
 * The name of the error that words of the C library stand for, such as `EPERM`; the words themselves when
 * unknown.
 */
export function errnoOfWords(words: string): string {
  return errnos[words.trim()] ?? words;
}
