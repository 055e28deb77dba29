import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** How a container of a pod ended. */
export interface ContainerEnd {
  readonly pod: string;
  readonly exitCode: number;
  /** On the clock of `performance.now()`. */
  readonly atMs: number;
}

/** The ends of the agents' containers, as the engine tells of them: pods are gone from the cluster soon after. */
export class ContainerEnds implements AsyncDisposable {
  readonly #ends: ContainerEnd[] = [];
  readonly #child: ChildProcess;

  constructor(docker: { readonly client: string; readonly host: string }) {
    const filters = ['type=container', 'event=die', 'label=io.kubernetes.container.name=agent'];
    this.#child = spawn(
      docker.client,
      ['events', '--format', '{{json .}}', ...filters.flatMap((filter) => ['--filter', filter])],
      { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, DOCKER_HOST: docker.host } },
    );
    this.#child.on('error', () => undefined);
    if (!this.#child.stdout) throw new Error('the engine tells no events');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const event = JSON.parse(line) as {
        readonly timeNano: number;
        readonly Actor: { readonly Attributes: Readonly<Record<string, string>> };
      };
      const attributes = event.Actor.Attributes;
      this.#ends.push({
        pod: attributes['io.kubernetes.pod.name'] ?? '',
        exitCode: Number(attributes.exitCode),
        atMs: event.timeNano / 1e6 - performance.timeOrigin,
      });
    });
  }

  of(pod: string): ContainerEnd | undefined {
    return this.#ends.find((end) => end.pod === pod);
  }

  /** Waits for the end of a pod's container. @throws Error when it does not end in time. */
  async until(pod: string, timeoutMs: number): Promise<ContainerEnd> {
    const endsAtMs = performance.now() + timeoutMs;
    while (true) {
      const end = this.of(pod);
      if (end) return end;
      if (performance.now() > endsAtMs) throw new Error(`${pod} did not end within ${timeoutMs / 1000} s`);
      await delay(100);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
  }
}
