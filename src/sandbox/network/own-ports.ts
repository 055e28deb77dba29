import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/**
 * Ports that the run has claimed for itself in a file of its folder: connections to them never reach a server of the
 * host, whether or not the run listens there. The run's code can write the file, but can only close ports to itself.
 * `*` claims every port.
 */
export interface OwnPorts {
  has(port: number): boolean;
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const maxFileBytes = 64 * 1024;
const none: OwnPorts = { has: () => false };
const all: OwnPorts = { has: () => true };

/** Reads the current file of own ports: numbers separated by white space. Invalid content is ignored. */
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

/** Whether an address other than loopback belongs to the host. */
export function isAddressOfHost(address: string): boolean {
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => entry.address === address),
  );
}
