/**
 * Mechanisms to contain code, strongest first.
 *
 * - `uid+namespaces`: as root. An unprivileged user per slot, in namespaces of its own for processes, mounts
 *   and IPC. The file system is read-only except for the slot's folder.
 * - `uid`: as root if namespaces are refused (a container without SYS_ADMIN). An unprivileged user per slot.
 * - `user-namespaces`: as a plain user whose kernel allows them. The same user, in namespaces as above; private
 *   paths are covered.
 * - `none`: as a plain user without them. Only limits and a clean environment; requires explicit permission.
 */
export const sandboxMechanisms = ['uid+namespaces', 'uid', 'user-namespaces', 'none'] as const;
export type SandboxMechanism = (typeof sandboxMechanisms)[number];

/** How code is contained on this host, for health and logs. */
export interface SandboxFacts {
  readonly mechanism: SandboxMechanism;
  /** One line for operators. */
  readonly description: string;
  /** Control group controllers in use; other resources are polled instead. */
  readonly controllers: readonly string[];
  readonly slotCount: number;
  /** Whether each sandbox has a network of its own, which enforces the egress policy. */
  readonly hasOwnNetwork: boolean;
  /** The Node executable that sandboxed code can access: a copy if the original is not accessible. */
  readonly nodePath: string;
  /** Degradations, each with a remedy. Empty if everything works. */
  readonly problems: readonly string[];
  /** Problems of parts that scripts use. */
  readonly partProblems?: readonly PartProblem[] | undefined;
}

export interface PartProblem {
  readonly part: 'runtime' | 'browser-trust' | 'compiled-code';
  /** One line for operators. */
  readonly text: string;
}

export const needsRoot = (mechanism: SandboxMechanism): boolean => mechanism.startsWith('uid');
export const hasNamespaces = (mechanism: SandboxMechanism): boolean => mechanism.includes('namespaces');

/** Whether programs run as the agent's own user, so that the kernel must be asked to shield the agent from them. */
export const isToBeHidden = ({ mechanism }: SandboxFacts): boolean => mechanism === 'user-namespaces';

const descriptions: Readonly<Record<SandboxMechanism, string>> = {
  'uid+namespaces':
    'a user per slot, no new privileges, own process, mount and IPC namespaces, read-only file system',
  uid: 'a user per slot, no new privileges',
  'user-namespaces':
    "the agent's user in own user, process, mount and IPC namespaces, no new privileges, read-only file system",
  none: 'NO ISOLATION: scripts can read whatever the agent can read',
};

/** A short description of the containment, which agents report to the service. */
export function mechanismInShort({ mechanism, hasOwnNetwork }: SandboxFacts): string {
  return hasOwnNetwork
    ? `${mechanism}, own network`
    : `${mechanism}, the host's network: no egress rules hold`;
}

/** The line for operators. */
export function describeMechanism(
  mechanism: SandboxMechanism,
  controllers: readonly string[],
  hasOwnNetwork: boolean,
): string {
  const bounds =
    controllers.length > 0 ? `control groups (${controllers.join(', ')})` : 'memory watched by polling';
  const network = hasOwnNetwork ? 'a network of its own behind the egress policy' : "the host's network";
  return `${descriptions[mechanism]}; ${bounds}; ${network}`;
}
