/**
 * Ways to contain code, strongest first.
 *
 * - `uid+namespaces`: as root. An unprivileged user per slot, in namespaces of its own for processes, mounts
 *   and IPC. The file system is read-only but for the slot's folder.
 * - `uid`: as root where namespaces are refused (a container without SYS_ADMIN). An unprivileged user per
 *   slot.
 * - `user-namespaces`: as a plain user whose kernel allows them. The same user, in namespaces as above;
 *   private paths are covered.
 * - `none`: as a plain user without them. Nothing but limits and a clean environment; only where it is
 *   explicitly allowed.
 */
export const sandboxMechanisms = ['uid+namespaces', 'uid', 'user-namespaces', 'none'] as const;
export type SandboxMechanism = (typeof sandboxMechanisms)[number];

/** How code is contained on this host, for health and logs. */
export interface SandboxFacts {
  readonly mechanism: SandboxMechanism;
  /** One line to be read by operators. */
  readonly description: string;
  /** Controllers of control groups in use; what is not among them is watched by polling instead. */
  readonly controllers: readonly string[];
  readonly slotCount: number;
  /** Whether each sandbox has a network of its own, where the egress policy holds. */
  readonly hasOwnNetwork: boolean;
  /** The executable of Node that sandboxed code can reach: a copy where the usual one is out of reach. */
  readonly nodePath: string;
  /** What is degraded, with what to change. Empty when nothing is. */
  readonly problems: readonly string[];
  /** What is wrong with parts that scripts use. */
  readonly partProblems?: readonly PartProblem[] | undefined;
}

export interface PartProblem {
  readonly part: 'runtime' | 'browser-trust';
  /** One line to be read by operators. */
  readonly text: string;
}

export const needsRoot = (mechanism: SandboxMechanism): boolean => mechanism.startsWith('uid');
export const hasNamespaces = (mechanism: SandboxMechanism): boolean => mechanism.includes('namespaces');

/** Whether programs have the agent's own user, and the kernel is to be asked to keep it from them. */
export const isToBeHidden = ({ mechanism }: SandboxFacts): boolean => mechanism === 'user-namespaces';

const descriptions: Readonly<Record<SandboxMechanism, string>> = {
  'uid+namespaces':
    'a user per slot, no new privileges, own process, mount and IPC namespaces, read-only file system',
  uid: 'a user per slot, no new privileges',
  'user-namespaces':
    "the agent's user in own user, process, mount and IPC namespaces, no new privileges, read-only file system",
  none: 'NO ISOLATION: scripts can read whatever the agent can read',
};

/** What contains scripts, in a few words: agents tell it to the service. */
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
