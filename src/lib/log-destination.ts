import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import { pino } from 'pino';

/** Where log lines go. Writing never waits and never throws. */
export interface LogDestination {
  write(line: string): void;
  /** Waits until what was written has left, for `graceMs` at most, and gives up what has not. */
  close(graceMs: number): Promise<void>;
}

/**
 * Lines that may wait for a reader that does not read, in bytes. What comes on top is dropped and counted.
 */
const maxWaitingBytes = 1024 * 1024;

/**
 * The process's standard output as a destination. A reader that stops reading must never stop the process,
 * neither while it runs nor when it ends. Hence pipes and sockets are written without blocking; a blocking
 * write would sit in one of libuv's threads, and the process could not even exit until it is over. Files and
 * terminals take the ordinary way. To be opened once, by a process that writes nothing else to its standard
 * output; closing it closes that.
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
    // The reader has gone. There is nowhere left to report it.
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
    // A full disk, say. Logging is lost then; nothing else shall be.
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
