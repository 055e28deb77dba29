import type { CauseContext, CauseGroup, CauseKind, FailingCheck } from '../failing-check.ts';

/** Failures that begin within this time of each other may share a cause, whatever passed in between. */
export const windowMs = 10 * 60_000;
/** Largest difference between slots of checks with the same interval that the schedule itself does not cause. */
const slackMs = 60_000;

interface SharedTarget {
  readonly kind: CauseKind;
  readonly value: string;
  /** Distinguishes it from the same value with another symptom. */
  readonly key: string;
}

type Targets = ReadonlyMap<FailingCheck, readonly SharedTarget[]>;

/** Groups checks by target; a check that shares no target is alone. */
export function groupsByTarget(facts: readonly FailingCheck[], context: CauseContext): CauseGroup[] {
  const targets = new Map(facts.map((fact) => [fact, targetsOf(fact, context)]));
  return components(targets).flatMap((component) =>
    simultaneous(component).map((members) => {
      const [first] = members;
      if (!first || members.length === 1) return alone(first ?? component[0]);
      return named(members, targets);
    }),
  );
}

function alone(fact: FailingCheck | undefined): CauseGroup {
  if (!fact) throw new Error('a group has no members');
  const reason = 'No other failing check shares its failure.';
  return { kind: 'check', evidence: fact.name, members: [fact], reason, isLocationsOwn: false };
}

/** Targets and dependencies of a check that other checks may share. */
function targetsOf(fact: FailingCheck, { parents }: CauseContext): SharedTarget[] {
  const isTrouble = fact.symptom === 'unreachable' || fact.symptom === 'unwell' || fact.symptom === 'unnamed';
  // A parent that has passed since does not explain failures of its children.
  const suspects = fact.parentIds.filter((id) => (parents.get(id)?.passedAt ?? -Infinity) < fact.since);
  const related = [...(isTrouble ? suspects : []), fact.checkId].map((id): SharedTarget => {
    const value = id === fact.checkId ? fact.name : (parents.get(id)?.name ?? id);
    return { kind: 'parent', value, key: `parent ${id}` };
  });
  return [...askedOf(fact), ...related];
}

/** Most specific first. */
function askedOf({ symptom, host, address, nameServer, content }: FailingCheck): SharedTarget[] {
  const one = (kind: CauseKind, value: string | null, key: string): SharedTarget[] =>
    value === null ? [] : [{ kind, value, key: `${kind} ${key} ${value}` }];
  switch (symptom) {
    case 'unreachable':
      return [...one('host', host, 'trouble'), ...one('address', address, 'trouble')];
    case 'unwell':
      // Many unrelated hosts may share the address of a proxy that responds.
      return one('host', host, 'trouble');
    case 'unnamed':
      return [
        ...one('resolver', nameServer, 'name'),
        ...one('host', host, 'name'),
        ...one('host', host === null ? null : domainOf(host), 'domain'),
      ];
    case 'content':
      return content === null ? [] : one('host', host, `content ${content}`);
    default:
      return [];
  }
}

/** Connected components of checks that share targets, directly or through others. */
function components(targets: Targets): FailingCheck[][] {
  const facts = [...targets.keys()];
  const parents = facts.map((_fact, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    while (parents[root] !== root) root = parents[root] ?? root;
    parents[index] = root;
    return root;
  };
  const first = new Map<string, number>();
  for (const [index, fact] of facts.entries()) {
    for (const { key } of targets.get(fact) ?? []) {
      const other = first.get(key);
      if (other === undefined) first.set(key, index);
      else parents[rootOf(index)] = rootOf(other);
    }
  }
  const entries = [...facts.entries()];
  const byRoot = Map.groupBy(entries, ([index]) => rootOf(index));
  return [...byRoot.values()].map((list) => list.map(([, fact]) => fact));
}

/**
 * Splits checks into groups that began to fail together: within the window of one another, or with a last passing run
 * that was due before the first of them failed. A check that still passed long after others began to fail has a
 * different cause, whatever it shares with them.
 */
function simultaneous(component: readonly FailingCheck[]): FailingCheck[][] {
  const groups: { began: number; last: number; members: FailingCheck[] }[] = [];
  for (const fact of component.toSorted((left, right) => left.since - right.since)) {
    const group = groups.find(
      ({ began, last }) => fact.since <= last + windowMs || fact.since - fact.intervalMs <= began + slackMs,
    );
    if (group) {
      group.members.push(fact);
      group.last = fact.since;
    } else groups.push({ began: fact.since, last: fact.since, members: [fact] });
  }
  return groups.map(({ members }) => members);
}

const relations: Partial<Record<CauseKind, string>> = {
  resolver: 'ask the name server',
  address: 'ask the address',
  parent: 'are, or depend on,',
};

/** Names the group by the target that most of its members share. */
function named(members: readonly FailingCheck[], targets: Targets): CauseGroup {
  const counts = new Map<string, { target: SharedTarget; count: number }>();
  for (const fact of members) {
    for (const target of targets.get(fact) ?? []) {
      const counted = counts.get(target.key) ?? { target, count: 0 };
      counts.set(target.key, { target, count: counted.count + 1 });
    }
  }
  const [most] = [...counts.values()].sort((left, right) => right.count - left.count);
  if (!most) throw new Error('members of a group share nothing');
  const { kind, value } = most.target;
  const others = members.length - most.count;
  const rest = others === 0 ? '' : `; ${others} more ${others === 1 ? 'fails' : 'fail'} with them`;
  const reason = `${most.count} checks that ${relations[kind] ?? 'ask the host'} ${value} fail together${rest}.`;
  return { kind, evidence: value, members, reason, isLocationsOwn: false };
}

/** Registrable part of a name, judged by its shape: `shop.co.uk` of `www.shop.co.uk`. */
export function domainOf(host: string): string | null {
  const labels = host.replace(/\.$/, '').split('.');
  const [second = '', top = ''] = labels.slice(-2);
  const isNested = top.length === 2 && second.length <= 3;
  const length = isNested ? 3 : 2;
  return /^[\d.:]+$/.test(host) || labels.length < length ? null : labels.slice(-length).join('.');
}
