import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/**
 * Ports that are the run's own, as the run itself says in a file of its folder: at them it reaches no server of the
 * host, whether or not one of its own listens. The file is the code's to write, so that it can only close ports to
 * itself. `*` stands for every port.
 */
export interface OwnPorts {
  has(port: number): boolean;
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const maxFileBytes = 64 * 1024;
const none: OwnPorts = { has: () => false };
const all: OwnPorts = { has: () => true };

/** What a file of own ports says now: numbers, separated by white space. What cannot be read says nothing. */
export function readOwnPorts(file: string): OwnPorts {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fstatSync(descriptor).isFile()) return none;
    const bytes = Buffer.alloc(maxFileBytes);
    const words = bytes.toString('latin1', 0, readSync(descriptor, bytes)).split(/\s+/);
    return words.includes('*') ? all : new Set(words.filter((word) => /^\d+$/.test(word)).map(Number));
  } catch {
    return none; // no file: the run has no ports of its own
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Whether the host itself answers at an address that is not loopback. */
export function isAddressOfHost(address: string): boolean {
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => entry.address === address),
  );
}
