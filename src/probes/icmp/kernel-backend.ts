import { readFileSync } from 'node:fs';
import { type Libc, loadLibc, SysUnavailable } from '../sys/libc.ts';
import { splitZone } from '../sys/zone.ts';
import { type IcmpBackend, IcmpUnavailable, type PingTrain } from './backend.ts';
import type { EchoAnswer } from './echo/answers.ts';
import { EchoEngine, type FamilyReports } from './echo/engine.ts';

const selfTestTimeoutMs = 1000;

/**
 * Pings through ICMP sockets of the kernel: datagram sockets if the system allows them, otherwise raw sockets, which
 * need NET_RAW. The kernel takes the timestamps.
 */
export class KernelBackend implements IcmpBackend {
  readonly description: string;
  readonly #engine: EchoEngine;

  private constructor(engine: EchoEngine) {
    this.#engine = engine;
    const { families } = engine;
    this.description = `ICMP ${families[4].mode ?? families[6].mode} sockets`;
  }

  /**
   * Opens the sockets and pings this host itself.
   *
   * @throws IcmpUnavailable with the reason if this host does not allow it.
   */
  static async open(): Promise<KernelBackend> {
    const engine = new EchoEngine(await loadedLibc());
    try {
      const refused = refusal(engine.families);
      if (refused !== undefined) throw new IcmpUnavailable(refused);
      await selfTest(engine, engine.families[4].mode === null ? '::1' : '127.0.0.1');
      return new KernelBackend(engine);
    } catch (thrown) {
      engine.close();
      throw thrown;
    }
  }

  get clock(): 'kernel' | 'event' {
    return this.#engine.isStamped ? 'kernel' : 'event';
  }

  ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    const { address, scopeId } = splitZone(train.address);
    if (scopeId === undefined) {
      return Promise.resolve(
        Array.from({ length: train.count }, (_, sequence) => ({
          kind: 'unsent',
          sequence,
          errno: 'ENODEV',
        })),
      );
    }
    return this.#engine.ping({ ...train, address, scopeId }, signal);
  }

  close(): Promise<void> {
    this.#engine.close();
    return Promise.resolve();
  }
}

async function loadedLibc(): Promise<Libc> {
  try {
    return await loadLibc();
  } catch (thrown) {
    if (thrown instanceof SysUnavailable) throw new IcmpUnavailable(thrown.message);
    throw thrown;
  }
}

/** Explains, by the responsible settings, why neither family has a socket; undefined if one has. */
function refusal(families: FamilyReports): string | undefined {
  const report = families[4];
  if (report.mode !== null || families[6].mode !== null) return undefined;
  const { datagramErrno, rawErrno } = report;
  return `ICMP datagram sockets are refused (${datagramErrno}: ${groupRangeHint()}) and raw sockets too (${rawErrno}: no NET_RAW)`;
}

function groupRangeHint(): string {
  const range = readSetting('/proc/sys/net/ipv4/ping_group_range');
  return range === undefined
    ? 'net.ipv4.ping_group_range cannot be read'
    : `net.ipv4.ping_group_range is "${range.split(/\s+/).join(' ')}"`;
}

function readSetting(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return undefined;
    throw thrown;
  }
}

/** Sends one request to this host: sockets may open but not deliver, for example in a sandbox. */
async function selfTest(engine: EchoEngine, address: string): Promise<void> {
  const spec = { address, scopeId: 0, count: 1, intervalMs: 0, dataBytes: 56 };
  const never = new AbortController().signal;
  const [answer] = await engine.ping({ ...spec, replyTimeoutMs: selfTestTimeoutMs }, never);
  if (answer?.kind === 'unsent' && (answer.errno === 'EPERM' || answer.errno === 'EACCES')) {
    throw new IcmpUnavailable(`sending echo requests is not permitted (${answer.errno})`);
  }
  const isDeaf = readSetting('/proc/sys/net/ipv4/icmp_echo_ignore_all') === '1';
  if (answer?.kind === 'silence' && !isDeaf) {
    throw new IcmpUnavailable(`this host does not receive its own echo reply from ${address}`);
  }
}
