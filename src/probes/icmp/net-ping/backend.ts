import { type IcmpBackend, IcmpUnavailable, type PingTrain } from '../backend.ts';
import type { EchoAnswer } from '../echo/answers.ts';
import { NetPingProcess } from './process.ts';

const selfTestTimeoutMs = 1000;

/**
 * Pings with the packages net-ping and raw-socket, on hosts that allow raw sockets but no system calls through FFI.
 * Timestamps are taken in the event callbacks of a dedicated process; the hop limit of IPv6 replies is unknown.
 */
export class NetPingBackend implements IcmpBackend {
  readonly description = 'net-ping over raw sockets';
  /** Timestamps come from the callbacks of a process that may be late. */
  readonly clock = 'event' as const;
  #process: NetPingProcess;

  private constructor(process: NetPingProcess) {
    this.#process = process;
  }

  /**
   * Starts the process and lets it ping this host.
   *
   * @throws IcmpUnavailable with the reason if the packages are missing, not built for this Node or not allowed.
   */
  static async open(): Promise<NetPingBackend> {
    const process = new NetPingProcess();
    try {
      const families = await process.ready;
      const errno = families[4].errno;
      if (errno !== null && families[6].errno !== null) {
        const hint = errno === 'EPERM' ? ': no NET_RAW' : '';
        throw new IcmpUnavailable(`net-ping's raw sockets are refused (${errno}${hint})`);
      }
      await selfTest(process, errno === null ? '127.0.0.1' : '::1');
      return new NetPingBackend(process);
    } catch (thrown) {
      await process.close();
      throw thrown;
    }
  }

  async ping(train: PingTrain, signal: AbortSignal): Promise<readonly EchoAnswer[]> {
    // The next run replaces a process that failed.
    if (this.#process.isEnded) this.#process = new NetPingProcess();
    await this.#process.ready;
    return await this.#process.ping(train, signal);
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}

/** Sockets may open but not deliver, for example in a sandbox. */
async function selfTest(process: NetPingProcess, address: string): Promise<void> {
  const train: PingTrain = {
    address,
    family: address === '::1' ? 6 : 4,
    count: 1,
    intervalMs: 0,
    replyTimeoutMs: selfTestTimeoutMs,
    dataBytes: 56,
  };
  const [answer] = await process.ping(train, new AbortController().signal);
  if (answer?.kind === 'reply') return;
  const why = answer?.kind === 'unsent' ? answer.errno : `no reply from ${address}`;
  throw new IcmpUnavailable(`net-ping does not work (${why})`);
}
