import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Outcome } from '../../../src/checks/contract/outcome.ts';
import type { IcmpDetail } from '../../../src/checks/icmp/detail.ts';
import type { PingTrain } from '../../../src/probes/icmp/backend.ts';
import type { EchoAnswer } from '../../../src/probes/icmp/echo/answers.ts';
import type { NetworkLab } from './network-namespaces.ts';

const program = new URL('./icmp-process-main.ts', import.meta.url).pathname;

/** Orders to the process, one line of JSON each. */
export type IcmpOrder =
  | { readonly type: 'ping'; readonly train: PingTrain }
  | { readonly type: 'check'; readonly spec: unknown; readonly timeoutMs: number };

/** Its responses, one line each, in the order of the orders; the first says how it pings, or why it cannot. */
export type IcmpAnnouncement =
  | { readonly description: string; readonly unavailable?: undefined }
  | { readonly description?: undefined; readonly unavailable: string };

/**
 * Privileges of the process. `root`: all. `without-capabilities`: no capabilities, also for its child programs, as in a
 * container that drops all. The user is always root: other users may be unable to read the checkout.
 */
export type Rights = 'root' | 'without-capabilities';

/** Whether the process chooses a backend as the agent does, or opens a given one. */
export type BackendChoice = 'best' | 'net-ping';

const prefixes: Readonly<Record<Rights, readonly string[]>> = {
  root: [],
  'without-capabilities': ['setpriv', '--inh-caps=-all', '--securebits=+noroot', '--bounding-set=-all'],
};

/** Command and arguments that start a program with some privileges; the program follows them. */
export function rightsPrefix(rights: Rights): readonly string[] {
  return prefixes[rights];
}

/** A command with arguments that starts a program with some privileges on the lab's agent. */
export function commandWith(lab: NetworkLab, rights: Rights, words: readonly string[]): string[] {
  return lab.commandOn('agent', [...prefixes[rights], process.execPath, ...words]);
}

/** A process on the lab's agent that pings with a backend. */
export class IcmpProcess implements AsyncDisposable {
  readonly announcement: IcmpAnnouncement;
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  private constructor(child: ChildProcess, answers: AsyncIterator<string>, announcement: IcmpAnnouncement) {
    this.#child = child;
    this.#answers = answers;
    this.announcement = announcement;
  }

  /** @param backend the backend to open; the best available one by default. */
  static async start(lab: NetworkLab, rights: Rights, backend: BackendChoice = 'best'): Promise<IcmpProcess> {
    const [command = '', ...words] = commandWith(lab, rights, [program, backend]);
    const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return new IcmpProcess(child, answers, await nextLine<IcmpAnnouncement>(answers));
  }

  /** Sends ten requests, ten milliseconds apart by default. */
  async ping(train: Partial<PingTrain> & Pick<PingTrain, 'address'>): Promise<readonly EchoAnswer[]> {
    const family = train.address.includes(':') ? 6 : 4;
    const defaults = { family, count: 10, intervalMs: 10, replyTimeoutMs: 300, dataBytes: 56 } as const;
    return await this.#ask({ type: 'ping', train: { ...defaults, ...train } });
  }

  /** Runs an ICMP monitor with a fiftieth of the usual pause between requests. */
  async check(spec: Readonly<Record<string, unknown>>, timeoutMs = 30_000): Promise<Outcome<IcmpDetail>> {
    return await this.#ask({ type: 'check', spec, timeoutMs });
  }

  /** Closes its input and waits for its end. @returns its exit code. */
  async end(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const exit = once(this.#child, 'exit');
    this.#child.stdin?.end();
    const [code] = (await exit) as [number | null];
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #ask<Answer>(order: IcmpOrder): Promise<Answer> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    return await nextLine<Answer>(this.#answers);
  }
}

async function nextLine<Line>(lines: AsyncIterator<string>): Promise<Line> {
  const { value, done } = await lines.next();
  if (done) throw new Error('the process ended without an answer');
  return JSON.parse(value) as Line;
}
