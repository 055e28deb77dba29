import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun, run } from '../images/command.ts';

/** `kubectl` for the cluster of the trial. */
export class Kubectl {
  readonly #program: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #folder: string;
  #fileCount = 0;

  constructor(program: string, kubeconfig: string, folder: string) {
    this.#program = program;
    this.#environment = { KUBECONFIG: kubeconfig, HOME: folder };
    this.#folder = folder;
  }

  /** A command that has to succeed; resolves with its standard output. @throws Error with its output. */
  async ask(...args: readonly string[]): Promise<string> {
    return await mustRun(this.#program, args, { environment: this.#environment });
  }

  /** A command, whatever comes of it. */
  async try(...args: readonly string[]) {
    return await run(this.#program, args, { environment: this.#environment });
  }

  async succeeds(...args: readonly string[]): Promise<boolean> {
    return (await this.try(...args)).code === 0;
  }

  async list<T>(...what: readonly string[]): Promise<T[]> {
    const text = await this.ask('get', ...what, '-o', 'json');
    return (JSON.parse(text) as { items: T[] }).items;
  }

  /** A file for `-f`. */
  async file(text: string): Promise<string> {
    this.#fileCount += 1;
    const path = join(this.#folder, `objects-${this.#fileCount}.yaml`);
    await writeFile(path, text);
    return path;
  }
}
