/** The program of IcmpProcess: opens a backend as the agent does, and follows orders from standard input. */
import { createInterface } from 'node:readline';
import { icmpRunner } from '../../../src/checks/icmp/run.ts';
import { IcmpSpec } from '../../../src/checks/icmp/spec.ts';
import { type IcmpBackend, IcmpUnavailable } from '../../../src/probes/icmp/backend.ts';
import { NetPingBackend } from '../../../src/probes/icmp/net-ping/backend.ts';
import { openIcmpBackend } from '../../../src/probes/icmp/open-backend.ts';
import { runContext } from '../run-context.ts';
import type { BackendChoice, IcmpAnnouncement, IcmpOrder } from './icmp-process.ts';

const choice = process.argv[2] as BackendChoice;
const backend = await opened();
if (backend) {
  // Nothing is closed at the end: an idle backend must not keep a process alive.
  const runner = icmpRunner({
    description: backend.description,
    clock: backend.clock,
    ping: (train, signal) => backend.ping({ ...train, intervalMs: 10, replyTimeoutMs: 300 }, signal),
    close: () => backend.close(),
  });
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line) as IcmpOrder;
    if (order.type === 'ping') {
      write(await backend.ping(order.train, new AbortController().signal));
    } else {
      const { spec, timeoutMs } = order;
      write(await runner(IcmpSpec.parse(spec), runContext({ timeoutMs })));
    }
  }
}

async function opened(): Promise<IcmpBackend | undefined> {
  try {
    const found = await (choice === 'net-ping' ? NetPingBackend.open() : openIcmpBackend());
    write({ description: found.description } satisfies IcmpAnnouncement);
    return found;
  } catch (thrown) {
    if (!(thrown instanceof IcmpUnavailable)) throw thrown;
    write({ unavailable: thrown.message } satisfies IcmpAnnouncement);
    return undefined;
  }
}

function write(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
