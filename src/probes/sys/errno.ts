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
