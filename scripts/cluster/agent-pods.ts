import { setTimeout as delay } from 'node:timers/promises';
import type { Kubectl } from './kubectl.ts';

export const namespace = 'picket';
const selector = 'app.kubernetes.io/component=agent';

interface PodObject {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime: string;
    }[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly started?: boolean;
      readonly state: { readonly waiting?: { readonly reason: string; readonly message?: string } };
    }[];
  };
}

/** A pod of the deployment, as the cluster sees it. */
export interface AgentPod {
  readonly name: string;
  readonly address: string;
  readonly isReady: boolean;
  /** When it became ready or ceased to be, to the second. */
  readonly readySince: string;
  /** Whether its startup probe has passed. */
  readonly isStarted: boolean;
  readonly isLeaving: boolean;
  readonly restarts: number;
  /** Why its container does not run. */
  readonly waiting: string;
}

/** The pods of the agent's deployment. */
export class AgentPods {
  readonly #kubectl: Kubectl;

  constructor(kubectl: Kubectl) {
    this.#kubectl = kubectl;
  }

  async all(): Promise<AgentPod[]> {
    const pods = await this.#kubectl.list<PodObject>('pods', '-n', namespace, '-l', selector);
    return pods.map(({ metadata, status }) => {
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      const container = status.containerStatuses?.[0];
      const { waiting } = container?.state ?? {};
      return {
        name: metadata.name,
        address: status.podIP ?? '',
        isReady: ready?.status === 'True',
        readySince: ready?.lastTransitionTime ?? '',
        isStarted: container?.started === true,
        isLeaving: metadata.deletionTimestamp !== undefined,
        restarts: container?.restartCount ?? 0,
        waiting: waiting ? `${waiting.reason} ${waiting.message ?? ''}`.trim() : '',
      };
    });
  }

  /** Waits until the pods are so, and tells how long that took. @throws Error with what they are instead. */
  async until(
    what: string,
    isSo: (pods: readonly AgentPod[]) => boolean,
    timeoutMs = 180_000,
  ): Promise<{ readonly pods: readonly AgentPod[]; readonly tookMs: number }> {
    const startedMs = performance.now();
    while (true) {
      const pods = await this.all();
      const tookMs = performance.now() - startedMs;
      if (isSo(pods)) return { pods, tookMs };
      if (tookMs > timeoutMs)
        throw new Error(`not within ${timeoutMs / 1000} s: ${what}\n${JSON.stringify(pods, undefined, 1)}`);
      await delay(250);
    }
  }

  /** Waits until there are so many pods and all of them are ready. */
  async ready(count: number) {
    const isSo = (pods: readonly AgentPod[]) =>
      pods.length === count && pods.every(({ isReady, isLeaving }) => isReady && !isLeaving);
    return await this.until(`${count} pods are ready`, isSo);
  }

  async logs(name: string): Promise<Record<string, unknown>[]> {
    const text = await this.#kubectl.ask('logs', '-n', namespace, name);
    const lines = text.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}
