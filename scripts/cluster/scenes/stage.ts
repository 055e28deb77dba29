import type { AgentPods } from '../agent-pods.ts';
import type { ContainerEnds } from '../container-ends.ts';
import type { Kubectl } from '../kubectl.ts';
import type { ServiceSide } from '../service-side.ts';
import type { TrialLog } from '../trial-log.ts';

/** What the scenes of the trial are played with. */
export interface Stage {
  readonly log: TrialLog;
  readonly kubectl: Kubectl;
  readonly pods: AgentPods;
  readonly ends: ContainerEnds;
  readonly service: ServiceSide;
  /** The engine of the node. */
  readonly docker: { readonly client: string; readonly host: string };
  /** The objects of the agent, to apply. */
  readonly agentFile: string;
}
