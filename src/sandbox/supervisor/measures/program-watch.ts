import { listProcesses, type ProcessEntry } from './process-usage.ts';

const intervalMs = 250;

interface WatchedProgram {
  measure(list: () => readonly ProcessEntry[]): void;
}

/** Measures the programs that run a customer's code. Its timer stops when the last one has ended. */
export class ProgramWatch {
  readonly #programs = new Set<WatchedProgram>();
  #timer: NodeJS.Timeout | undefined;

  /** Watches a program from now on. */
  add(program: WatchedProgram): void {
    this.#programs.add(program);
    this.#timer ??= setInterval(() => this.#measure(), intervalMs);
  }

  remove(program: WatchedProgram): void {
    this.#programs.delete(program);
    if (this.#programs.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #measure(): void {
    let entries: readonly ProcessEntry[] | undefined;
    // At most one walk through /proc per round, and none if control groups count.
    const list = () => {
      entries ??= listProcesses();
      return entries;
    };
    for (const program of this.#programs) program.measure(list);
  }
}
