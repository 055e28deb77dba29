import type { Socket } from 'node:net';
import { toError } from '@picket/lib/errors.ts';
import type { CertificateFacts } from '../connection/certificate.ts';
import { Connection } from '../connection/connection.ts';
import { classifyError, ProbeError, type ProbePhase } from '../connection/errors.ts';
import { type InterruptionSources, Interruptions, interruptionError } from '../connection/interruption.ts';
import { settledError } from '../connection/proxy-question.ts';
import type { ConnectionOptions, ConnectionTarget } from '../connection/target.ts';
import type { ProbeMeasurement } from '../kernel-thread/socket-watch.ts';
import type { StepOutcome } from '../steps/steps.ts';
import { Dialogue } from './dialogue.ts';
import type { DialogueStep, ExchangedLine } from './dialogue-steps.ts';
import { type TcpPhases, tcpPhases } from './probe.ts';

/** A dialogue to run. */
export interface DialogueRequest {
  readonly target: Omit<ConnectionTarget, 'alpnProtocols' | 'clientIdentity'>;
  readonly steps: readonly DialogueStep[];
}

export interface DialogueControls extends ConnectionOptions, InterruptionSources {}

/** Result of a probe. With an error, the other fields hold the results up to then. */
export interface DialogueResult {
  readonly error: ProbeError | undefined;
  readonly isConnected: boolean;
  readonly lines: readonly ExchangedLine[];
  /** Of the steps that were begun. */
  readonly outcomes: readonly StepOutcome[];
  /** `data` is the waiting time of the steps; `tls` includes that of a STARTTLS step. */
  readonly phases: TcpPhases;
  readonly measurement: ProbeMeasurement;
  readonly certificate: CertificateFacts | undefined;
  /** Null without a connection, or with a proxy. */
  readonly address: string | null;
}

/** Runs one dialogue on one fresh connection. Never throws because of a peer; a rejection is a bug of ours. */
export async function probeDialogue(
  { target, steps }: DialogueRequest,
  controls: DialogueControls,
): Promise<DialogueResult> {
  const startMs = performance.now();
  const connection = new Connection({
    ...target,
    clientIdentity: undefined,
    alpnProtocols: [],
  });
  let dialogue: Dialogue | undefined;
  const phase = (): ProbePhase =>
    connection.isOpen ? (dialogue?.isShaking ? 'tls' : 'data') : connection.phase;
  const stopped = Promise.withResolvers<Error>();
  const interruptions = new Interruptions(controls, (interruption) => {
    const at = { phase: phase(), where: connection.where, timeoutMs: controls.timeoutMs };
    dialogue?.stepClock.interrupt();
    stopped.resolve(interruptionError(interruption, at));
  });
  const talk = async () => {
    if (controls.signal.aborted) return await stopped.promise;
    try {
      const socket = await connected(connection, controls);
      const { hostname, serverName = hostname, isCertificateChecked } = target;
      dialogue = new Dialogue(socket, connection, { hostname: serverName, isCertificateChecked });
      return await dialogue.hold(steps);
    } catch (thrown) {
      return toError(thrown);
    }
  };
  try {
    const thrown = await Promise.race([stopped.promise, talk()]);
    const error =
      thrown && classifyError(connection.explained(thrown), phase(), connection.where, connection.peer);
    if (error && !(error instanceof ProbeError)) throw error;
    const silentMs = error ? connection.silentMs() : 0;
    const { times, clock, lagMs, doubtMs } = connection;
    const tlsMs = times.tlsMs + (dialogue?.tlsMs ?? 0);
    const phases = tcpPhases({ ...times, tlsMs }, dialogue?.stepClock.waitedMs ?? 0);
    const overheadMs = Math.max(0, performance.now() - startMs - phases.total);
    const waitedMs = Math.max(silentMs, clock === 'kernel' ? phases.total : 0);
    return {
      error: await settledError(error, connection, target.proxy, controls),
      isConnected: connection.isConnected,
      lines: dialogue?.lines ?? [],
      outcomes: dialogue?.stepClock.outcomes ?? [],
      phases,
      measurement: { clock, overheadMs, lagMs, doubtMs, ...(error && { waitedMs }) },
      certificate: dialogue?.certificate ?? connection.certificate,
      address: target.proxy ? null : connection.address,
    };
  } finally {
    interruptions.release();
    connection.destroy();
  }
}

function connected(connection: Connection, controls: DialogueControls): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  connection.open(controls, (error, socket) => {
    if (socket) resolve(socket);
    else reject(error ?? new Error('connected without a socket'));
  });
  return promise;
}
