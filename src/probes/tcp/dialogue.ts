import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type CertificateFacts, CertificateReader, checkStrictIdentity } from '../connection/certificate.ts';
import type { Connection } from '../connection/connection.ts';
import { ProbeError } from '../connection/errors.ts';
import { beginHandshake } from '../connection/handshake.ts';
import { secureContextFor } from '../connection/secure-contexts.ts';
import { usualHandshakeStartMs } from '../kernel-thread/send-time.ts';
import { StepClock } from '../steps/step-clock.ts';
import type { DialogueStep, ExchangedLine } from './dialogue-steps.ts';
import { LineReader, maxDialogueBytes } from './line-reader.ts';

/** Maximum number of lines in a dialogue. */
const maxLines = 1000;
/** After such a pause, an incomplete line is offered to the step: prompts have no line end. */
const restPauseMs = 200;

/** Parameters of TLS for a step that requests it. */
export interface DialogueTls {
  readonly hostname: string;
  readonly isCertificateChecked: boolean;
}

/** Runs the steps of a dialogue on an open connection. Times are those when bytes left and arrived. */
export class Dialogue {
  readonly lines: ExchangedLine[] = [];
  readonly stepClock: StepClock;
  /** Duration of TLS handshakes within the dialogue. */
  tlsMs = 0;
  readonly #connection: Connection;
  readonly #tls: DialogueTls;
  readonly #readyMs: number;
  readonly #reader = new LineReader();
  readonly #certificate = new CertificateReader();
  #socket: Socket;
  /** When the last bytes arrived. */
  #arrivedMs: number;
  #end: Error | undefined;
  /** True while a handshake owns the socket. */
  #isShaking = false;

  constructor(socket: Socket, connection: Connection, tls: DialogueTls) {
    this.#socket = socket;
    this.#connection = connection;
    this.#readyMs = connection.readyMs;
    this.stepClock = new StepClock(this.#readyMs);
    this.#arrivedMs = this.#readyMs;
    this.#tls = tls;
    this.#listen(socket);
  }

  get certificate(): CertificateFacts | undefined {
    return this.#certificate.facts;
  }

  get isShaking(): boolean {
    return this.#isShaking;
  }

  /** Runs the steps in order until one fails. @returns the error that ended them, if any. */
  async hold(steps: readonly DialogueStep[]): Promise<Error | undefined> {
    const failed = await this.stepClock.each(steps, (step, index) => this.#acceptLine(step, index));
    return failed === 'refused' ? undefined : failed;
  }

  async #acceptLine(step: DialogueStep, index: number): Promise<Error | 'refused' | undefined> {
    if (step.kind === 'send') return this.#send(step.data(), index);
    if (step.kind === 'start-tls') return await this.#startTls(step.timeoutMs);
    const endMs = performance.now() + step.timeoutMs;
    for (;;) {
      const line = this.#reader.line();
      if (line !== undefined) {
        const taken = step.take(line);
        this.#keep(line, taken === 'passed-over' ? undefined : index);
        if (taken !== 'passed-over') return taken === 'taken' ? undefined : 'refused';
        if (this.lines.length >= maxLines) return this.#tooMuch(`${maxLines} lines`);
        continue;
      }
      const leftMs = endMs - performance.now();
      const pauseMs = this.#reader.hasRest ? Math.min(restPauseMs, leftMs) : leftMs;
      if (await this.#somethingCame(pauseMs)) continue;
      const isOver = this.#end !== undefined || performance.now() >= endMs;
      const rest = this.#reader.rest;
      if (rest !== '') {
        const taken = step.take(rest);
        // An incomplete line is not rejected before the timeout: it may continue.
        if (taken === 'taken' || isOver) {
          this.#reader.dropRest();
          this.#keep(rest, taken === 'passed-over' ? undefined : index);
          if (taken !== 'passed-over') return taken === 'taken' ? undefined : 'refused';
        }
      }
      if (this.#end) return this.#ended(this.#end);
      if (isOver) return this.#late(step.timeoutMs, 'waiting for a line');
    }
  }

  #send(data: Buffer, index: number): Error | undefined {
    if (this.#end) return this.#end;
    this.#connection.beforeSending();
    const beforeMs = performance.now();
    this.#socket.write(data);
    const sentMs = this.#connection.sentSince(beforeMs);
    this.stepClock.goesOnAt(sentMs);
    const atMs = Math.max(0, sentMs - this.#readyMs);
    this.lines.push({ isSent: true, text: data.toString('utf8'), atMs, step: index });
    return undefined;
  }

  async #startTls(timeoutMs: number): Promise<Error | undefined> {
    if (this.#end) return this.#end;
    if (this.#reader.hasRest) {
      const text = `the server sent more data before TLS began (${this.#connection.where})`;
      return new ProbeError('response-malformed', 'starttls', text);
    }
    const plain = this.#socket;
    plain.removeAllListeners('data');
    plain.removeAllListeners('end');
    this.#isShaking = true;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.#connection.beforeSending();
    const beforeMs = performance.now();
    const secure: TLSSocket = beginHandshake(
      plain,
      { ...this.#tls, alpnProtocols: [] },
      { secureContext: secureContextFor(undefined), checkServerIdentity: checkStrictIdentity },
    );
    const sentMs = this.#connection.sentSince(beforeMs, usualHandshakeStartMs);
    this.#certificate.attach(secure);
    secure.once('secureConnect', () => resolve(undefined));
    secure.once('error', resolve);
    const closed = `the peer closed the connection while negotiating TLS (${this.#connection.where})`;
    secure.once('close', () => resolve(new ProbeError('handshake-failed', 'tls', closed)));
    const late = `timed out after ${timeoutMs} ms while negotiating TLS (${this.#connection.where})`;
    const timer = setTimeout(
      () => resolve(new ProbeError('connection-timeout', 'tls', late, 'ETIMEDOUT')),
      timeoutMs,
    );
    const error = await promise;
    clearTimeout(timer);
    const eventMs = performance.now();
    const endMs = error ? eventMs : this.#connection.arrivalOf(this.#connection.receivedBytes, eventMs);
    this.tlsMs += Math.max(0, endMs - sentMs);
    this.stepClock.goesOnAt(endMs);
    if (error) return error;
    this.#isShaking = false;
    this.#socket = secure;
    this.#listen(secure);
    return undefined;
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => {
      if (this.#end) return;
      const { receivedBytes } = this.#connection;
      this.#arrivedMs = this.#connection.arrivalOf(receivedBytes, performance.now());
      const isRead = this.#reader.add(chunk);
      if (!isRead) this.#finish(this.#tooMuch(`${maxDialogueBytes} bytes`));
      this.stepClock.wake();
    });
    const over = () => {
      if (this.#isShaking) return;
      const text = `the server closed the connection (${this.#connection.where})`;
      this.#finish(new ProbeError('dialogue-failed', 'data', text));
    };
    socket.once('end', over);
    socket.once('close', over);
    socket.on('error', (error: Error) => this.#finish(error));
  }

  #tooMuch(what: string): ProbeError {
    const text = `the server sent more than ${what} (${this.#connection.where})`;
    return new ProbeError('dialogue-failed', 'data', text);
  }

  #finish(error: Error): void {
    this.#end ??= error;
    this.stepClock.wake();
  }

  #ended(error: Error): Error {
    this.stepClock.arrived(performance.now());
    return error;
  }

  #late(timeoutMs: number, what: string): ProbeError {
    this.stepClock.arrived(performance.now());
    const text = `timed out after ${Math.round(timeoutMs)} ms while ${what} (${this.#connection.where})`;
    return new ProbeError('response-timeout', 'data', text, 'ETIMEDOUT');
  }

  #keep(text: string, step: number | undefined): void {
    this.lines.push({ isSent: false, text, atMs: Math.max(0, this.#arrivedMs - this.#readyMs), step });
    if (step !== undefined) this.stepClock.arrived(this.#arrivedMs);
  }

  /** Waits for more data; data that arrived before the timeout counts. */
  async #somethingCame(timeoutMs: number): Promise<boolean> {
    if (this.#end) return false;
    const before = this.#reader.sizeBytes;
    await this.stepClock.wait(timeoutMs);
    return this.#reader.sizeBytes > before;
  }
}
