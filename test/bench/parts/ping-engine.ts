/**
 * The echo engine without an agent, in a process of its own: for each line `ADDRESSES COUNT PERIOD_MS` it sends a train
 * of COUNT requests to each of that many addresses of this host, and prints the CPU time of the whole process in
 * milliseconds.
 */
import { createInterface } from 'node:readline';
import { KernelBackend } from '../../../src/probes/icmp/kernel-backend.ts';
import { loopbackAddresses } from './fping.ts';

const backend = await KernelBackend.open();
const never = new AbortController().signal;
console.log(backend.description);
for await (const line of createInterface({ input: process.stdin })) {
  const [addressCount = 0, count = 0, intervalMs = 0] = line.split(' ').map(Number);
  const before = process.cpuUsage();
  const trains = await Promise.all(
    loopbackAddresses(addressCount).map((address) =>
      backend.ping({ address, family: 4, count, intervalMs, replyTimeoutMs: 1000, dataBytes: 56 }, never),
    ),
  );
  const { user, system } = process.cpuUsage(before);
  const lost = trains.flat().filter(({ kind }) => kind !== 'reply').length;
  // A busy host drops some packets, on the loopback device too.
  if (lost > (addressCount * count) / 1000) throw new Error(`${lost} requests were not answered`);
  console.log((user + system) / 1000);
}
