import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toError } from '@picket/lib/errors.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import {
  describeMechanism,
  hasNamespaces,
  needsRoot,
  type SandboxFacts,
  type SandboxMechanism,
  sandboxMechanisms,
} from '../mechanism.ts';
import { Networks } from '../network/networks.ts';
import { SandboxInUse } from '../sandbox.ts';
import { findControllers, removeStaleGroups } from './control-group.ts';
import { impassableFolder, isWithin } from './launch.ts';
import { ProgramWatch } from './measures/program-watch.ts';
import type { SupervisorSettings } from './message.ts';
import { reachableNode, selfTest } from './self-test.ts';
import { Slot } from './slot.ts';
import { SlotProcesses } from './slot-processes.ts';
import { Claims, claimUids } from './uid-claims.ts';
import { wipeFolder } from './wipe.ts';

/** Where user ids are claimed, so that two agents on one host never end each other's runs. */
const claimsDirectory = '/run/picket-sandbox';

/** The slots of one agent, under the strongest mechanism that passed the self-test. */
export class Supervisor {
  readonly slots: readonly Slot[];
  readonly facts: SandboxFacts;
  readonly #claims: Claims;

  private constructor(slots: readonly Slot[], facts: SandboxFacts, claims: Claims) {
    this.slots = slots;
    this.facts = facts;
    this.#claims = claims;
  }

  /**
   * Removes the leftovers of a dead agent, tries the mechanisms starting with the strongest, and prepares the slots.
   *
   * @throws Error if nothing acceptable works here; the message lists the attempts and their errors.
   */
  static async open(settings: SupervisorSettings): Promise<Supervisor> {
    const claims = new Claims();
    claimDirectory(settings, claims);
    const isRoot = process.getuid?.() === 0;
    const uids = isRoot
      ? claimUids(claims, claimsFolder(settings), settings.firstUid, settings.slotCount)
      : [];
    const controllers = findControllers();
    await removeLeftovers(settings.directory, settings, claims, uids);
    for (const directory of settings.neighbours) await removeOfDead(directory, settings, uids);
    await removeStaleGroups(controllers);
    const networks = openNetworks(settings);
    const watch = new ProgramWatch();
    const candidates = settings.mechanism ? [settings.mechanism] : sandboxMechanisms;
    const failures: string[] = [];
    for (const mechanism of candidates) {
      if (needsRoot(mechanism) !== isRoot) {
        if (settings.mechanism) failures.push(`${mechanism}: ${isRoot ? 'not as root' : 'needs root'}`);
        continue;
      }
      if (mechanism === 'none' && !settings.isUnisolatedAllowed) continue;
      for (const network of networkChoices(mechanism, settings, networks)) {
        const hasOwnNetwork = network !== undefined;
        const slots = Array.from(
          { length: settings.slotCount },
          (_, index) =>
            new Slot({
              index,
              directory: join(settings.directory, `slot-${index}`),
              uid: uids[index],
              mechanism,
              privatePaths: settings.privatePaths,
              controllers,
              networks: network,
              watch,
            }),
        );
        try {
          const { nodePath, problems } = await tryMechanism(slots, mechanism, settings);
          const names = [...controllers.keys()];
          const facts: SandboxFacts = {
            mechanism,
            description: describeMechanism(mechanism, names, hasOwnNetwork),
            controllers: names,
            slotCount: slots.length,
            hasOwnNetwork,
            nodePath,
            problems: [
              ...failures.map((failure) => `not in use: ${failure}`),
              ...problems,
              ...weaknesses(mechanism, settings),
              ...(hasOwnNetwork ? [] : [withoutNetwork(mechanism, networks)]),
            ],
          };
          return new Supervisor(slots, facts, claims);
        } catch (thrown) {
          const name = hasOwnNetwork ? `${mechanism} with a network of its own` : mechanism;
          failures.push(`${name}: ${toError(thrown).message}`);
          await Promise.all(slots.map((slot) => slot.end().catch(() => undefined))); // the next attempt starts afresh
        }
      }
      if (isPolicyLost(settings)) {
        failures.push(
          `${mechanism} without a network of its own: EGRESS_DENY would not hold for scripts there (with ALLOW_UNISOLATED_SCRIPTS=true they run anyway)`,
        );
      }
    }
    throw new Error(
      `this host cannot contain scripts (${failures.join('; ') || 'nothing to try'}). Run the agent as root, or allow user namespaces`,
    );
  }

  /** Ends all programs and removes all folders. */
  async close(): Promise<void> {
    await Promise.allSettled(this.slots.map((slot) => slot.end()));
    this.#claims.release();
  }
}

/** Opens the networks for sandboxes; returns the error if that fails. */
function openNetworks(settings: SupervisorSettings): Networks | Error {
  try {
    return new Networks(createEgressPolicy(settings.egress));
  } catch (thrown) {
    return toError(thrown);
  }
}

/** With a network of its own first, then with the host's, unless that would break the operator's rules. */
function networkChoices(
  mechanism: SandboxMechanism,
  settings: SupervisorSettings,
  networks: Networks | Error,
): readonly (Networks | undefined)[] {
  const own = hasNamespaces(mechanism) && networks instanceof Networks ? [networks] : [];
  return isPolicyLost(settings) ? own : [...own, undefined];
}

/** Whether the host's network would break the operator's rules. */
function isPolicyLost({ egress, isUnisolatedAllowed }: SupervisorSettings): boolean {
  return egress.deny.trim() !== '' && !isUnisolatedAllowed;
}

function withoutNetwork(mechanism: SandboxMechanism, networks: Networks | Error): string {
  const why =
    networks instanceof Error ? ` (${networks.message})` : hasNamespaces(mechanism) ? '' : ` (${mechanism})`;
  return `scripts have the host's network${why}: metadata services, link-local addresses and the agent's own port are open to them, and runs reach each other's servers`;
}

/** @throws SandboxInUse if another running supervisor uses the folder. */
function claimDirectory(settings: SupervisorSettings, claims: Claims): void {
  mkdirSync(settings.directory, { recursive: true, mode: 0o711 });
  if (statSync(settings.directory).uid !== process.getuid?.()) {
    throw new Error(`${settings.directory} belongs to another user`);
  }
  // Slots' users traverse it to their own folders; only we list or write it.
  chmodSync(settings.directory, 0o711);
  if (!claims.claim(join(settings.directory, 'lock'))) {
    throw new SandboxInUse(`${settings.directory} is in use by another agent`);
  }
}

function claimsFolder(settings: SupervisorSettings): string {
  try {
    mkdirSync(claimsDirectory, { recursive: true, mode: 0o700 });
    return claimsDirectory;
  } catch {
    return join(settings.directory, 'claims'); // a read-only root: there is no other agent in this container
  }
}

/** Removes the leftovers of a dead agent: first its processes, which may still write, then its folders. */
async function removeLeftovers(
  directory: string,
  settings: SupervisorSettings,
  claims: Claims,
  uids: readonly number[],
): Promise<void> {
  const folders = readdirSync(directory)
    .filter((name) => name.startsWith('slot-'))
    .map((name) => join(directory, name))
    .filter((path) => lstatSync(path).isDirectory());
  const isRoot = process.getuid?.() === 0;
  const owners = isRoot ? folders.map((path) => lstatSync(path).uid).filter((uid) => uid > 0) : [];
  const others = owners.filter(
    (uid) => !uids.includes(uid) && claims.claim(join(claimsFolder(settings), String(uid))),
  );
  for (const uid of [...uids, ...others]) await new SlotProcesses('uid', uid, '').end(undefined);
  for (const folder of folders) await wipeFolder(folder);
}

/** The same in the folder of another supervisor, unless that one is running. Its next supervisor removes the rest. */
async function removeOfDead(directory: string, settings: SupervisorSettings, uids: readonly number[]) {
  const claims = new Claims();
  try {
    if (statSync(directory).uid !== process.getuid?.() || !claims.claim(join(directory, 'lock'))) return;
    await removeLeftovers(directory, settings, claims, uids);
  } catch {
    return; // there is no such folder, or its disk fails: the start can continue
  } finally {
    claims.release();
  }
}

async function tryMechanism(
  slots: readonly Slot[],
  mechanism: SandboxMechanism,
  settings: SupervisorSettings,
): Promise<{ nodePath: string; problems: string[] }> {
  const blocking = needsRoot(mechanism) ? impassableFolder(join(settings.directory, 'slot')) : undefined;
  if (blocking)
    throw new Error(
      `${blocking} cannot be entered by other users: chmod o+x, or choose another folder for sandboxes`,
    );
  const [first] = slots;
  if (!first) throw new Error('no slot was requested');
  const nodePath = await reachableNode(settings.nodePath, mechanism, settings.directory);
  await first.clean();
  const problems = await selfTest(first, mechanism, {
    nodePath,
    readablePaths: settings.readablePaths,
    privatePaths: settings.privatePaths,
    secretHash: settings.secretHash,
  });
  await Promise.all(slots.map((slot) => slot.clean()));
  if (nodePath === join(settings.directory, 'node')) {
    problems.push(`${settings.nodePath} is out of reach for scripts: they run on a copy of it`);
  } else {
    await rm(join(settings.directory, 'node'), { force: true });
  }
  return { nodePath, problems };
}

function weaknesses(mechanism: SandboxMechanism, settings: SupervisorSettings): string[] {
  if (!hasNamespaces(mechanism)) return [];
  const missing = settings.privatePaths.filter((path) => !existsSync(path));
  return [
    ...missing.map(
      (path) => `${path} does not exist yet, so it is not covered: make it before the agent starts`,
    ),
    ...(isWithin(settings.directory, '/tmp')
      ? ['sandboxes lie below /tmp, so scripts have no /tmp of their own: choose another folder']
      : []),
  ];
}
