import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownThreadEnvironment } from '@picket/lib/env.ts';
import { toError } from '@picket/lib/errors.ts';
import { isOfUnshare } from '../foreign-texts.ts';
import type { SandboxFacts } from '../mechanism.ts';
import { SandboxInUse, SandboxUnavailable } from '../sandbox.ts';
import { systemProgram } from './launch.ts';
import {
  type SlotFolder,
  type SupervisorReport,
  type SupervisorRequest,
  type SupervisorSettings,
  supervisorSecretName,
} from './message.ts';

const supervisorEntry = new URL(`./supervisor-main${extname(import.meta.url)}`, import.meta.url);
const maxErrorTextBytes = 4096;
// It holds little data and mostly waits.
const heapOptions = ['--max-old-space-size=256', '--max-semi-space-size=1'];

/** The channel to a supervisor process. It lives until `close`, or until the process dies, which `lost` reports. */
export class SupervisorLink {
  readonly facts: SandboxFacts;
  readonly slots: readonly SlotFolder[];
  /** Resolves with the reason when the process has ended, closed or not. */
  readonly lost: Promise<string>;
  readonly #child: ChildProcess;

  private constructor(
    child: ChildProcess,
    lost: Promise<string>,
    facts: SandboxFacts,
    slots: readonly SlotFolder[],
  ) {
    this.#child = child;
    this.lost = lost;
    this.facts = facts;
    this.slots = slots;
  }

  /**
   * Starts a supervisor and waits until its slots are ready.
   *
   * @throws SandboxUnavailable
   */
  static async open(
    settings: Omit<SupervisorSettings, 'secretHash'>,
    onReport: (report: SupervisorReport) => void,
  ): Promise<SupervisorLink> {
    // A plain user has the privileges for private networks only in a user namespace.
    if (process.getuid?.() === 0) return await SupervisorLink.#open(settings, onReport, {});
    const execArgv = ['--user', '--map-current-user', '--keep-caps', process.execPath, ...heapOptions];
    const opened = await SupervisorLink.#open(settings, onReport, {
      execPath: systemProgram('unshare'),
      execArgv,
    }).catch((thrown: unknown) => toError(thrown));
    if (opened instanceof SupervisorLink) return opened;
    // Without user namespaces, fall back to a plain start, which reports the reason itself.
    if (!isOfUnshare(opened.message)) throw opened;
    return await SupervisorLink.#open(settings, onReport, {});
  }

  static async #open(
    settings: Omit<SupervisorSettings, 'secretHash'>,
    onReport: (report: SupervisorReport) => void,
    program: Pick<ForkOptions, 'execPath' | 'execArgv'>,
  ): Promise<SupervisorLink> {
    const secret = randomUUID();
    const child = fork(fileURLToPath(supervisorEntry), [], {
      // Its own process group: a terminal's Ctrl-C must not end programs before the agent has decided.
      detached: true,
      cwd: '/',
      // None of the agent's environment is passed on.
      env: { ...ownThreadEnvironment, [supervisorSecretName]: secret },
      execArgv: heapOptions,
      ...program,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let errorText = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      errorText = (errorText + chunk.toString('utf8')).slice(-maxErrorTextBytes);
    });
    const lost = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      // Not `close`, which is never emitted after our own `disconnect`.
      child.once('exit', (code, signal) =>
        resolve(`the sandbox supervisor ended (${signal ?? `exit code ${code}`}) ${errorText.trim()}`.trim()),
      );
    });
    const opened = new Promise<Extract<SupervisorReport, { kind: 'opened' }>>((resolve, reject) => {
      child.on('message', (report: SupervisorReport) => {
        if (report.kind === 'opened') resolve(report);
        else if (report.kind === 'refused') reject(refusedBy(report));
        else onReport(report);
      });
      void lost.then((reason) => reject(new SandboxUnavailable(reason)));
    });
    send(child, {
      kind: 'open',
      settings: { ...settings, secretHash: createHash('sha256').update(secret).digest('hex') },
    });
    try {
      const { facts, slots } = await opened;
      return new SupervisorLink(child, lost, facts, slots);
    } catch (thrown) {
      if (child.connected) child.disconnect();
      await lost;
      throw thrown;
    }
  }

  get isConnected(): boolean {
    return this.#child.connected;
  }

  send(request: SupervisorRequest): void {
    send(this.#child, request);
  }

  /** Lets the supervisor clean up and end; it does the same when this process dies. */
  async close(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.lost;
  }
}

function refusedBy({ message, isInUse }: Extract<SupervisorReport, { kind: 'refused' }>): SandboxUnavailable {
  return isInUse ? new SandboxInUse(message) : new SandboxUnavailable(message);
}

function send(child: ChildProcess, request: SupervisorRequest): void {
  // If the channel is closed, `lost` reports it.
  if (child.connected) child.send(request, () => undefined);
}
