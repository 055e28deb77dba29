import { certificateWords } from '@picket/checks/contract/facts.ts';
import {
  type CauseContext,
  type CauseGroup,
  type CauseKind,
  type FailingCheck,
  passesElsewhere,
  targetOf,
} from '../failing-check.ts';
import { groupsByTarget } from './targets.ts';

/** Number of failing targets that implicate a location if the same slots passed elsewhere. */
const minVerifiedTargets = 2;
/** If nothing ran elsewhere: this many failing targets, and this share of all targets of the location. */
const minSuspectedTargets = 3;
const minSuspectedShare = 0.6;
/** Several hosts behind one router fail at once by coincidence more often than hosts with one address. */
const minTargetsBehindHop = 3;

/**
 * Groups failing checks by cause: each check is in exactly one group, alone if nothing links it to others. Pure;
 * ignores earlier decisions.
 *
 * Rules run from the most to the least specific: a location that its agents report as unhealthy, the rule of an egress
 * policy, a certificate, a router that reports the destination as unreachable, a location where many targets fail while
 * they pass elsewhere, and the targets of the checks (address, host, name server). Finally, a check that was declared
 * to depend on another failing check moves to the group of that check.
 */
export function causes(facts: readonly FailingCheck[], context: CauseContext): CauseGroup[] {
  const left = new Set(facts);
  const groups: CauseGroup[] = [];
  const take = (group: CauseGroup) => {
    groups.push(group);
    for (const member of group.members) left.delete(member);
  };
  for (const rule of [unhealthyLocations, egressRules, certificates, hops, suspectLocations]) {
    for (const group of rule([...left], context)) take(group);
  }
  return withParents([...groups, ...groupsByTarget([...left], context)], facts);
}

type Rule = (facts: readonly FailingCheck[], context: CauseContext) => CauseGroup[];

const unhealthyLocations: Rule = (facts, { unhealthy }) => {
  const explained = (fact: FailingCheck, location: string) => {
    const kinds = unhealthy.get(location);
    if (!kinds || fact.fromLocation === null) return false;
    // A resolver is reached through the network.
    return kinds.has('network') || (fact.fromLocation !== 'network' && kinds.has('resolver'));
  };
  const blamed = facts.filter(
    ({ failedAt, ...fact }) =>
      failedAt.length > 0 && failedAt.every((location) => explained({ failedAt, ...fact }, location)),
  );
  return [...Map.groupBy(blamed, ({ failedAt }) => failedAt[0] ?? '')].map(([location, members]) => ({
    ...group('location', location, members),
    reason: `The agents of the location ${location} report it as unhealthy, which explains ${countOf(members)}.`,
    isLocationsOwn: true,
  }));
};

const egressRules: Rule = (facts) =>
  shared(facts, ({ egressRule }) => egressRule).map(([rule, members]) =>
    group(
      'egress',
      rule,
      members,
      `The egress policy refuses ${countOf(members)} their connections: ${rule}.`,
    ),
  );

const certificates: Rule = (facts) =>
  shared(facts, ({ certificate }) => certificate && certificateWords(certificate)).map(([words, members]) =>
    group('certificate', words, members, `The same certificate fails ${countOf(members)}: ${words}.`),
  );

const hops: Rule = (facts) =>
  shared(facts, ({ hop, symptom }) => (symptom === 'unreachable' ? hop : null)).flatMap(([hop, members]) => {
    const targets = targetCount(members);
    if (targets < minTargetsBehindHop) return [];
    const reason = `No hop after ${hop} responds on the paths to ${targets} targets of ${countOf(members)}.`;
    return [group('hop', hop, members, reason)];
  });

const suspectLocations: Rule = (facts, { targetsAt }) => {
  const sensitive = facts.filter(({ fromLocation }) => fromLocation !== null);
  const once = Map.groupBy(
    sensitive.filter(({ failedAt }) => failedAt.length === 1),
    ({ failedAt }) => failedAt[0] ?? '',
  );
  const suspects = [...once].flatMap(([location, there]) => {
    const verified = there.filter(passesElsewhere);
    const isVerified = targetCount(verified) >= minVerifiedTargets;
    const targets = targetCount(there);
    const known = Math.max(targets, targetsAt.get(location) ?? 0);
    const isCrowded = targets >= minSuspectedTargets && targets >= known * minSuspectedShare;
    if (!isVerified && !isCrowded) return [];
    const share = isVerified ? 'which pass elsewhere' : `most of the ${known} that are checked there`;
    return [{ location, members: isCrowded ? there : verified, share }];
  });
  const names = new Set(suspects.map(({ location }) => location));
  // Two locations can be unhealthy at once, and a check can fail at both.
  const atSeveral = sensitive.filter(
    (fact) =>
      fact.failedAt.length > 1 && passesElsewhere(fact) && fact.failedAt.every((one) => names.has(one)),
  );
  return suspects.map(({ location, members: there, share }) => {
    const members = [...there, ...atSeveral.filter(({ failedAt }) => failedAt[0] === location)];
    const isResolver = there.every(({ fromLocation, symptom }) => {
      return fromLocation === 'resolver' || symptom === 'unnamed';
    });
    const part = isResolver ? 'resolver' : 'network';
    const reason = `At the location ${location} ${countOf(members)} fail with ${targetCount(members)} different targets, ${share}: its ${part}.`;
    return group(isResolver ? 'resolver' : 'location', location, members, reason);
  });
};

function targetCount(facts: readonly FailingCheck[]): number {
  return new Set(facts.map(targetOf)).size;
}

/** Moves checks to the groups of the failing checks they depend on. */
function withParents(groups: readonly CauseGroup[], facts: readonly FailingCheck[]): CauseGroup[] {
  const byId = new Map(facts.map((fact) => [fact.checkId, fact]));
  const root = (fact: FailingCheck, seen: ReadonlySet<string> = new Set()): FailingCheck => {
    const parent = fact.parentIds
      .map((id) => byId.get(id))
      .find((found) => found && !seen.has(found.checkId));
    return parent ? root(parent, new Set([...seen, fact.checkId])) : fact;
  };
  // In a dependency cycle no check is the root.
  const isChild = (fact: FailingCheck) => root(fact) !== fact && root(root(fact)) === root(fact);
  const children = Map.groupBy(facts.filter(isChild), (fact) => root(fact));
  if (children.size === 0) return [...groups];
  const moved = new Set([...children.values()].flat());
  return groups.flatMap((one) => {
    const own = one.members.filter((member) => !moved.has(member));
    const parents = own.filter((member) => children.has(member));
    const added = parents.flatMap((parent) => children.get(parent) ?? []);
    if (own.length === 0) return [];
    const members = [...own, ...added];
    const [parent] = parents;
    if (parent && own.length === 1) {
      const reason = `${countOf(added)} ${added.length === 1 ? 'depends' : 'depend'} on ${parent.name}, which fails.`;
      return [group('parent', parent.name, members, reason)];
    }
    return [{ ...one, members }];
  });
}

/** Groups of at least two checks that share a value. */
function shared(
  facts: readonly FailingCheck[],
  read: (fact: FailingCheck) => string | null,
): [string, FailingCheck[]][] {
  return [...Map.groupBy(facts, read)].flatMap(([value, members]) =>
    value === null || members.length < 2 ? [] : [[value, members] satisfies [string, FailingCheck[]]],
  );
}

function group(kind: CauseKind, evidence: string, members: readonly FailingCheck[], reason = ''): CauseGroup {
  return { kind, evidence, members, reason, isLocationsOwn: false };
}

/** For example `7 checks`. */
function countOf(members: readonly FailingCheck[]): string {
  return members.length === 1 ? '1 check' : `${members.length} checks`;
}
