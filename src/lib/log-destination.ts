import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { pino } from 'pino';

/** Destination of log lines. Writing never blocks and never throws. */
export interface LogDestination {
  write(line: string): void;
  /** Waits up to `graceMs` until all lines are written, and drops the rest. */
  close(graceMs: number): Promise<void>;
}

/** Backlog for a reader that does not read, in bytes. Further lines are dropped and counted. */
const maxWaitingBytes = 1024 * 1024;

/**
 * The process's standard output as a destination. A reader that stops reading must never stop the process, neither
 * while it runs nor when it ends. Hence pipes and sockets are written without blocking; a blocking write would occupy
 * one of libuv's threads, and the process could not exit before it returns. Files and terminals use the ordinary
 * stream. Open it once, in a process that writes nothing else to standard output; closing it closes standard output.
 */
export function standardOutput(): LogDestination {
  const stats = fstatSync(1);
  return stats.isFIFO() || stats.isSocket() ? new PipeDestination(1) : new FileDestination(1);
}

class PipeDestination implements LogDestination {
  readonly #socket: Socket;
  #droppedCount = 0;

  constructor(fd: number) {
    this.#socket = new Socket({ fd, readable: false, writable: true });
    // The reader is gone, and no destination is left for a report.
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('drain', () => this.#reportDropped());
    this.#socket.unref();
  }

  write(line: string): void {
    if (this.#socket.destroyed) return;
    if (this.#socket.writableLength > maxWaitingBytes) this.#droppedCount++;
    else this.#socket.write(line);
  }

  async close(graceMs: number): Promise<void> {
    if (this.#socket.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, graceMs);
    this.#socket.end(() => resolve());
    this.#socket.once('close', () => resolve());
    await promise;
    clearTimeout(timer);
    this.#socket.destroy();
  }

  #reportDropped(): void {
    if (this.#droppedCount === 0) return;
    const line = {
      level: 40,
      time: new Date().toISOString(),
      dropped: this.#droppedCount,
      msg: 'log lines dropped: standard output is not being read',
    };
    this.#droppedCount = 0;
    this.#socket.write(`${JSON.stringify(line)}\n`);
  }
}

class FileDestination implements LogDestination {
  readonly #stream: ReturnType<typeof pino.destination>;

  constructor(fd: number) {
    this.#stream = pino.destination({ dest: fd, sync: false, minLength: 0, maxLength: maxWaitingBytes });
    // For example, a full disk: only log lines are lost.
    this.#stream.on('error', () => undefined);
  }

  write(line: string): void {
    this.#stream.write(line);
  }

  async close(graceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, graceMs);
    this.#stream.flush(() => resolve());
    await promise;
    clearTimeout(timer);
  }
}
