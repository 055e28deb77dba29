import { setTimeout as delay } from 'node:timers/promises';
import { type IcmpBackend, IcmpUnavailable, type PingTrain } from '../../../src/probes/icmp/backend.ts';
import { KernelBackend } from '../../../src/probes/icmp/kernel-backend.ts';
import { NetPingBackend } from '../../../src/probes/icmp/net-ping/backend.ts';
import { readRoundTrips } from '../../helpers/wire/wire.ts';
import type { Measured } from './accuracy-report.ts';
import { agentDevice } from './bench-lab.ts';
import { startCapture } from './capture.ts';

const count = 500;
const busyMs = 20;

/** Compares round trips that the backends report with the kernel's own timestamps in a capture. */
export async function measureEcho(
  address: string,
  progress: (text: string) => void,
): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  const ways = [
    ['kernel sockets', () => KernelBackend.open()],
    ['net-ping', () => NetPingBackend.open()],
  ] as const;
  for (const [name, open] of ways) {
    let backend: IcmpBackend;
    try {
      backend = await open();
    } catch (thrown) {
      if (!(thrown instanceof IcmpUnavailable)) throw thrown;
      progress(`ICMP over ${name} left out: ${thrown.message}`);
      continue;
    }
    for (const load of ['main loop idle', 'main loop busy 20 of 40 ms'] as const) {
      const isBusy = load !== 'main loop idle';
      measured.push({
        what: `icmp, ${name}`,
        load,
        prober: 'picket',
        ...(await errorsOf(backend, address, isBusy)),
      });
      progress(`ICMP over ${name}, ${load}`);
    }
    await backend.close();
  }
  return measured;
}

async function errorsOf(backend: IcmpBackend, address: string, isBusy: boolean) {
  await using capture = await startCapture(agentDevice, `icmp and host ${address}`);
  const stop = new AbortController();
  const busy = isBusy ? keepBusy(stop.signal) : undefined;
  const train: PingTrain = { address, family: 4, count, intervalMs: 10, replyTimeoutMs: 1000, dataBytes: 56 };
  const answers = await backend.ping(train, new AbortController().signal);
  stop.abort();
  await busy;
  const lost = await capture.stop();
  const roundTrips = await readRoundTrips(capture.path, address);
  const errors = answers.flatMap((answer) => {
    const truth = roundTrips[answer.sequence];
    return answer.kind === 'reply' && truth != null ? [{ total: answer.rttMs - truth }] : [];
  });
  return { errors, made: count, lost };
}

/** Blocks this thread for 20 of every 40 milliseconds. */
async function keepBusy(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const endMs = performance.now() + busyMs;
    while (performance.now() < endMs);
    await delay(busyMs);
  }
}
