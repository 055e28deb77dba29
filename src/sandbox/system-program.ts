import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

const programFolders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Absolute path of a system program, independent of PATH. @throws Error if it is missing. */
export function systemProgram(name: string): string {
  for (const folder of programFolders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not there
    }
  }
  throw new Error(`the program ${name} is missing (Debian: util-linux, coreutils, iproute2, iptables)`);
}
