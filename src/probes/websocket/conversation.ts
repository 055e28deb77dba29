import type { Socket } from 'node:net';
import type { Connection } from '../connection/connection.ts';
import { ProbeError } from '../connection/errors.ts';
import { StepClock } from '../steps/step-clock.ts';
import {
  abnormalClose,
  clientFrame,
  closeCodes,
  closeFrame,
  FrameError,
  type FrameLimits,
  FrameReader,
  type Message,
  opcodes,
} from './frames.ts';
import type { ConversationClose, ConversationStep, ExchangedMessage } from './steps.ts';

/** Limits for one conversation. */
export const frameLimits: FrameLimits = {
  messageBytes: 1024 * 1024,
  messages: 1000,
  frames: 20_000,
  controlFrames: 1000,
};

/** Timeout for the server's close frame. */
const closeWaitMs = 2000;

/** Result of a wait: a message, the end of the connection, or a timeout. */
type News = 'message' | 'end' | 'timeout';

/**
 * Runs the steps on an open WebSocket: TALKING (the steps, in order) -> CLOSING (our close frame, and the server's) ->
 * done. Times are those when bytes left and arrived: local processing in between is not included.
 */
export class Conversation {
  readonly messages: ExchangedMessage[] = [];
  readonly stepClock: StepClock;
  pingCount = 0;
  close: ConversationClose | undefined;
  /** From our close frame to the server's; undefined unless both were sent. */
  closeMs: number | undefined;
  #phase: 'talking' | 'closing' = 'talking';
  readonly #socket: Socket;
  readonly #connection: Connection;
  readonly #openedMs: number;
  readonly #reader: FrameReader;
  /** Messages that no step has processed yet. */
  readonly #inbox: ExchangedMessage[] = [];
  /** Why the conversation ended. */
  #end: Error | undefined;
  #closeArrivedMs = 0;
  /** The piece being read, and when its event began. */
  #piece = { sizeBytes: 0, receivedBytes: 0, eventMs: 0 };
  readonly #isPlain: boolean;

  /**
   * @param options.openedMs when the response to the handshake had arrived.
   * @param options.isPlain whether the bytes are those on the wire, so that each message has a known offset.
   */
  constructor(
    socket: Socket,
    connection: Connection,
    { openedMs, isPlain }: { readonly openedMs: number; readonly isPlain: boolean },
  ) {
    this.#isPlain = isPlain;
    this.#socket = socket;
    this.#connection = connection;
    this.#openedMs = openedMs;
    this.stepClock = new StepClock(openedMs);
    this.#reader = new FrameReader(
      {
        onMessage: (message) => this.#receive(message),
        onPing: (data) => {
          this.pingCount += 1;
          this.#write(clientFrame(opcodes.pong, data));
        },
        onClose: (code, reason) => {
          this.close ??= { code, reason, isByTarget: this.#phase === 'talking' };
          this.#closeArrivedMs = this.#arrivedMs();
          this.#finish(
            this.#endedBy(
              `the server closed the conversation with code ${code}${reason === '' ? '' : ` (${reason})`}`,
              code,
            ),
          );
        },
      },
      frameLimits,
    );
  }

  /** Processes data from the connection. */
  feed(bytes: Buffer): void {
    if (this.#end) return;
    const { receivedBytes } = this.#connection;
    this.#piece = { sizeBytes: bytes.length, receivedBytes, eventMs: performance.now() };
    try {
      this.#reader.feed(bytes);
    } catch (thrown) {
      if (!(thrown instanceof FrameError)) throw thrown;
      this.#refuse(thrown);
    }
  }

  /** The connection has ended or failed. */
  stop(error: Error | undefined): void {
    const { where } = this.#connection;
    const silent = `the peer closed the connection without a close frame (${where})`;
    if (!this.#end) this.close ??= { code: abnormalClose, reason: '', isByTarget: this.#phase === 'talking' };
    this.#finish(error ?? new ProbeError('connection-reset', 'message', silent));
  }

  /** True once all steps are done: no later event can fail a step. */
  get isClosing(): boolean {
    return this.#phase === 'closing';
  }

  /** Runs the steps in order until one fails. @returns the error that ended them. */
  async hold(steps: readonly ConversationStep[]): Promise<Error | undefined> {
    const failed = await this.stepClock.each(steps, (step, index) => this.#acceptMessage(step, index));
    if (failed === undefined) return await this.#closed();
    if (!this.#end) this.#write(closeFrame(closeCodes.normal));
    return failed === 'refused' ? undefined : failed;
  }

  async #acceptMessage(step: ConversationStep, index: number): Promise<Error | 'refused' | undefined> {
    if (step.kind === 'send') return this.#send(step.message, index);
    const endMs = performance.now() + step.timeoutMs;
    for (;;) {
      const news = await this.#news(endMs - performance.now());
      if (news === 'timeout') return this.#late(step);
      if (news === 'end') return this.#ended(step);
      const message = this.#inbox.shift();
      if (!message || step.kind === 'expect-close') continue;
      const taken = step.take(message);
      if (taken === 'passed-over') continue;
      message.step = index;
      this.stepClock.arrived(this.#openedMs + message.atMs);
      return taken === 'taken' ? undefined : 'refused';
    }
  }

  #send(message: Message, index: number): Error | undefined {
    if (this.#end) return this.#end;
    const opcode = message.isText ? opcodes.text : opcodes.binary;
    const frame = clientFrame(opcode, message.data);
    this.#connection.beforeSending();
    const beforeMs = performance.now();
    this.#socket.write(frame);
    const sentMs = this.#connection.sentSince(beforeMs);
    this.stepClock.goesOnAt(sentMs);
    this.messages.push({ ...message, isSent: true, atMs: Math.max(0, sentMs - this.#openedMs), step: index });
    return undefined;
  }

  #late(step: Exclude<ConversationStep, { kind: 'send' }>): ProbeError {
    this.stepClock.arrived(performance.now());
    const isMessage = step.kind === 'expect';
    const what = isMessage ? 'waiting for a message' : 'waiting for the server to close';
    const text = `timed out after ${Math.round(step.timeoutMs)} ms while ${what} (${this.#connection.where})`;
    return new ProbeError('response-timeout', isMessage ? 'message' : 'close', text, 'ETIMEDOUT');
  }

  #ended(step: ConversationStep): Error | undefined {
    this.stepClock.arrived(this.#closeArrivedMs || performance.now());
    const isClosed = this.close !== undefined && this.close.code !== abnormalClose;
    return step.kind === 'expect-close' && isClosed ? undefined : this.#end;
  }

  /** Waits for an event; data that arrived before the timeout counts. */
  async #news(timeoutMs: number): Promise<News> {
    if (this.#inbox.length > 0) return 'message';
    if (this.#end) return 'end';
    await this.stepClock.wait(timeoutMs);
    if (this.#inbox.length > 0) return 'message';
    return this.#end ? 'end' : 'timeout';
  }

  /** Closes the WebSocket and waits for the server's close frame. */
  async #closed(): Promise<Error | undefined> {
    this.#phase = 'closing';
    this.#inbox.length = 0;
    if (!this.#end) {
      const beforeMs = performance.now();
      this.#connection.beforeSending();
      this.#socket.write(closeFrame(closeCodes.normal));
      const sentMs = this.#connection.sentSince(beforeMs);
      await this.#news(closeWaitMs);
      if (this.close?.code !== abnormalClose && this.#closeArrivedMs > 0)
        this.closeMs = Math.max(0, this.#closeArrivedMs - sentMs);
    }
    this.close ??= { code: abnormalClose, reason: '', isByTarget: false };
    return this.#broken();
  }

  /** An error that counts even after all steps are done: the server violated the protocol. */
  #broken(): Error | undefined {
    const isBroken = this.#end instanceof ProbeError && this.#end.kind === 'response-malformed';
    return isBroken ? this.#end : undefined;
  }

  #receive(message: Message): void {
    if (this.#phase === 'closing') return;
    const atMs = Math.max(0, this.#arrivedMs() - this.#openedMs);
    const received: ExchangedMessage = { ...message, isSent: false, atMs, step: undefined };
    this.messages.push(received);
    this.#inbox.push(received);
    this.stepClock.wake();
  }

  /** When the frame that was completed in this event had arrived. */
  #arrivedMs(): number {
    const { sizeBytes, receivedBytes, eventMs } = this.#piece;
    const behindBytes = this.#isPlain ? sizeBytes - this.#reader.position : 0;
    return this.#connection.arrivalOf(receivedBytes - behindBytes, eventMs);
  }

  /** The server violated the protocol, or exceeded a limit. */
  #refuse(error: FrameError): void {
    this.#write(closeFrame(error.closeCode));
    const text = `the server sent ${error.message} (${this.#connection.where})`;
    this.#finish(new ProbeError(error.isTooMuch ? 'dialogue-failed' : 'response-malformed', 'message', text));
  }

  #endedBy(message: string, closeCode?: number): ProbeError {
    return new ProbeError('dialogue-failed', 'message', `${message} (${this.#connection.where})`, undefined, {
      details: { closeCode },
    });
  }

  #finish(error: Error): void {
    if (this.#end) return;
    this.#end = error;
    // A server's close frame is answered with the same code.
    const code = this.close?.code;
    if (code !== undefined && code !== abnormalClose && this.#phase === 'talking')
      this.#write(closeFrame(code));
    this.stepClock.wake();
  }

  /** Sends a frame that is not timed. */
  #write(frame: Buffer): void {
    if (this.#socket.writable) this.#socket.write(frame);
  }
}
