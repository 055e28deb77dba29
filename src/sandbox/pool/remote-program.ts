import { Writable } from 'node:stream';
import {
  maxEventLineBytes,
  type SandboxedEnd,
  type SandboxedProcess,
  type SandboxedProgram,
} from '../sandbox.ts';
import type { ProgramRequest, ProgramStream, SupervisorRequest } from '../supervisor/message.ts';
import { EventLines } from './event-lines.ts';

const maxInputMessageBytes = 256 * 1024;

/** A program that a supervisor runs, as the pool sees it. */
export class RemoteProgram implements SandboxedProcess {
  readonly input: Writable;
  readonly ended: Promise<SandboxedEnd>;
  readonly #run: number;
  readonly #program: SandboxedProgram;
  readonly #send: (request: SupervisorRequest) => void;
  readonly #lines: EventLines;
  #onInputTaken: (() => void) | undefined;
  #resolve: (end: SandboxedEnd) => void = () => undefined;
  #isOver = false;

  constructor(run: number, program: SandboxedProgram, send: (request: SupervisorRequest) => void) {
    this.#run = run;
    this.#program = program;
    this.#send = send;
    this.#lines = new EventLines(maxEventLineBytes, (line) => program.onEvent?.(line));
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.input = new Writable({
      decodeStrings: true,
      write: (chunk: Buffer, _encoding, done) => this.#write(chunk, done),
      final: (done) => {
        this.#send({ kind: 'inputEnd', run });
        done();
      },
    });
  }

  interrupt(): void {
    if (!this.#isOver) this.#send({ kind: 'interrupt', run: this.#run });
  }

  kill(): void {
    if (!this.#isOver) this.#send({ kind: 'kill', run: this.#run });
  }

  receiveOutput(stream: ProgramStream, bytes: Uint8Array): void {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (stream === 'events') this.#lines.add(chunk);
    else this.#program.onOutput(stream, chunk);
  }

  receiveInputAnswer(): void {
    const next = this.#onInputTaken;
    this.#onInputTaken = undefined;
    next?.();
  }

  finish(end: SandboxedEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#lines.end();
    this.receiveInputAnswer();
    this.#resolve(end);
  }

  /**
   * Sends input in pieces, each after the previous one was consumed: a program that does not read blocks the writer.
   */
  #write(chunk: Buffer, done: () => void): void {
    if (this.#isOver || chunk.length === 0) {
      done();
      return;
    }
    this.#onInputTaken = () => this.#write(chunk.subarray(maxInputMessageBytes), done);
    this.#send({ kind: 'input', run: this.#run, chunk: chunk.subarray(0, maxInputMessageBytes) });
  }
}

/** Converts a program to a supervisor request. */
export function toRequest(program: SandboxedProgram): ProgramRequest {
  const { path, args, environment, workingDirectory, limits, isOwnUntilInput, onEvent } = program;
  return {
    path,
    args: [...args],
    environment: { ...environment },
    workingDirectory,
    limits: { ...limits },
    isOwnUntilInput,
    hasEvents: onEvent !== undefined,
  };
}
