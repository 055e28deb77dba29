import { readFileSync } from 'node:fs';
import type { EchoAnswer } from '../kernel-thread/echo/answers.ts';
import { type Libc, loadLibc, SysUnavailable } from '../sys/libc.ts';
import { splitZone } from '../sys/zone.ts';
import { type IcmpBackend, IcmpUnavailable, type PingTrain } from './backend.ts';
import { EngineThread, type FamilyReports } from './engine-thread.ts';

const selfTestTimeoutMs = 1000;

/**
 * Pings through ICMP sockets of the kernel: datagram sockets if the system allows them, otherwise raw sockets, which
 * need NET_RAW. The kernel takes the timestamps.
 */
export class KernelBackend implements IcmpBackend {
  readonly description: string;
  readonly clock = 'kernel';
  readonly #libc: Libc;
  #thread: EngineThread;

  private constructor(libc: Libc, thread: EngineThread, families: FamilyReports) {
    this.#libc = libc;
    this.#thread = thread;
    this.description = `ICMP ${families[4].mode ?? families[6].mode} sockets`;
  }

  /**
   * Starts the engine and pings this host itself.
   *
   * @throws IcmpUnavailable with the reason if this host does not allow it.
   */
  static async open(): Promise<KernelBackend> {
    const libc = await loadedLibc();
    const thread = new EngineThread(libc);
    try {
      const families = await thread.ready;
      const refused = refusal(families);
      if (refused !== undefined) throw new IcmpUnavailable(refused);
      await selfTest(thread, families[4].mode === null ? '::1' : '127.0.0.1');
      return new KernelBackend(libc, thread, families);
    } catch (thrown) {
      await thread.close();
      throw thrown;
    }
  }

  async ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    const { address, scopeId } = splitZone(train.address);
    if (scopeId === undefined) {
      return Array.from({ length: train.count }, (_, sequence) => ({
        kind: 'unsent',
        sequence,
        errno: 'ENODEV',
      }));
    }
    const { count, intervalMs, dataBytes, replyTimeoutMs, ttl, dontFragment } = train;
    const spec = { address, scopeId, count, intervalMs, dataBytes, replyTimeoutMs, ttl, dontFragment };
    const thread = await this.#liveThread();
    return await thread.ping(spec, signal);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** The next run replaces an engine that failed. */
  async #liveThread(): Promise<EngineThread> {
    if (this.#thread.isEnded) this.#thread = new EngineThread(this.#libc);
    await this.#thread.ready;
    return this.#thread;
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
async function selfTest(thread: EngineThread, address: string): Promise<void> {
  const spec = { address, scopeId: 0, count: 1, intervalMs: 0, dataBytes: 56, ttl: undefined };
  const never = new AbortController().signal;
  const [answer] = await thread.ping({ ...spec, replyTimeoutMs: selfTestTimeoutMs }, never);
  if (answer?.kind === 'unsent' && (answer.errno === 'EPERM' || answer.errno === 'EACCES')) {
    throw new IcmpUnavailable(`sending echo requests is not permitted (${answer.errno})`);
  }
  const isDeaf = readSetting('/proc/sys/net/ipv4/icmp_echo_ignore_all') === '1';
  if (answer?.kind === 'silence' && !isDeaf) {
    throw new IcmpUnavailable(`this host does not receive its own echo reply from ${address}`);
  }
}
