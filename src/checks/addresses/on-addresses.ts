import type { IpFamily, ResolvedAddress } from '@picket/probes/address.ts';
import { ownAnswer, ResolveError, type Resolver } from '@picket/probes/resolver.ts';
import { type Failure, reworded } from '../contract/failure.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { NameResolver, RunContext } from '../contract/run-context.ts';
import { jobLogOf } from '../contract/run-log.ts';
import { badness, heldBack, labelled, verdictName } from '../runner/part-of-run.ts';
import { type Attempt, browsersChoice } from './browsers-choice.ts';
import { type Addresses, type AddressVerdict, maxAddresses } from './fields.ts';

/** Fields of a detail that can list several addresses. */
export interface AddressedDetail {
  readonly jobLog: ReturnType<typeof jobLogOf>;
  readonly addresses?: AddressVerdict[] | undefined;
}

/** An operation that can run at several addresses of one name. */
export interface Addressed<Detail extends AddressedDetail> {
  readonly choice: Addresses;
  /** Through a proxy, which resolves the name itself. */
  readonly isProxied: boolean;
  /** Runs the operation once. @param isFirst whether to do the parts that are done only once for all addresses. */
  once(
    context: RunContext,
    options: { readonly isFirst: boolean; readonly family?: IpFamily },
  ): Promise<Outcome<Detail>>;
  /** Time to connect, in milliseconds; undefined without a connection. */
  connectMs(detail: Detail): number | undefined;
}

/** One address and its outcome. */
interface Seen<Detail> {
  readonly family: IpFamily;
  address: string | null;
  readonly outcome: Outcome<Detail>;
  /** Hands over the files of the operation. */
  readonly handOver: () => Promise<void>;
}

/**
 * Runs an operation at as many addresses of its name as the check wants, concurrently, each on its own connection. The
 * outcome is that of the worst address (the first among equals) and lists the result of each.
 */
export async function onAddresses<Detail extends AddressedDetail>(
  addressed: Addressed<Detail>,
  context: RunContext,
): Promise<Outcome<Detail>> {
  const { choice = 'first', isProxied } = addressed;
  if (choice !== 'first' && isProxied) {
    context.log.write('WARN', 'Only one connection was made: the proxy resolves the name of the target');
  }
  if (choice === 'first' || isProxied) return await addressed.once(context, { isFirst: true });
  const seen =
    choice === 'every' ? await everyAddress(addressed, context) : await bothFamilies(addressed, context);
  return await worstOf(seen, addressed, context);
}

/** The first operation resolves the name; the others start as soon as the addresses are known. */
async function everyAddress<Detail extends AddressedDetail>(
  addressed: Addressed<Detail>,
  context: RunContext,
): Promise<Seen<Detail>[]> {
  const startMs = performance.now();
  const others: Promise<Seen<Detail>>[] = [];
  let first: ResolvedAddress | undefined;
  const onResolved = (name: string, addresses: readonly ResolvedAddress[]) => {
    if (first) return;
    const distinct = [...new Map(addresses.map((one) => [one.address, one])).values()];
    first = distinct[0];
    if (distinct.length > maxAddresses) {
      const message = `${name} has ${distinct.length} addresses; the first ${maxAddresses} are checked`;
      context.log.write('WARN', message);
    }
    for (const one of distinct.slice(1, maxAddresses)) {
      const resolver = pinned(context.resolver, name, one);
      const timeoutMs = context.timeoutMs - (performance.now() - startMs);
      const label = () => one.address;
      others.push(
        seenAt(
          { addressed, context: { ...context, resolver, timeoutMs }, label, isFirst: false },
          one.family,
        ).then((seen) => ({ ...seen, address: one.address })),
      );
    }
  };
  const resolver = watched(context.resolver, onResolved);
  const label = () => first?.address;
  const seen = await seenAt(
    { addressed, context: { ...context, resolver }, label, isFirst: true },
    undefined,
  );
  const found = { ...seen, family: first?.family ?? 4, address: first?.address ?? null };
  return [found, ...(await Promise.all(others))];
}

async function bothFamilies<Detail extends AddressedDetail>(
  addressed: Addressed<Detail>,
  context: RunContext,
): Promise<Seen<Detail>[]> {
  return await Promise.all(
    ([4, 6] as const).map(async (family) => {
      let first: ResolvedAddress | undefined;
      const resolver = watched(ofFamily(context.resolver, family), (_name, addresses) => {
        first ??= addresses[0];
      });
      const order = { addressed, context: { ...context, resolver }, label: () => `IPv${family}` };
      const seen = await seenAt({ ...order, isFirst: family === 4, isOfFamily: true }, family);
      return { ...seen, address: first?.address ?? null };
    }),
  );
}

async function seenAt<Detail extends AddressedDetail>(
  order: {
    readonly addressed: Addressed<Detail>;
    readonly context: RunContext;
    /** Prefix of its log lines. */
    label(): string | undefined;
    readonly isFirst: boolean;
    readonly isOfFamily?: boolean;
  },
  family: IpFamily | undefined,
): Promise<Seen<Detail>> {
  const { addressed, context, label, isFirst, isOfFamily = false } = order;
  const held = context.artifacts && heldBack(context.artifacts);
  const outcome = await addressed.once(
    { ...context, log: labelled(context.log, label), artifacts: held?.sink },
    { isFirst, ...(isOfFamily && family && { family }) },
  );
  return { family: family ?? 4, address: null, outcome, handOver: held?.handOver ?? (async () => undefined) };
}

async function worstOf<Detail extends AddressedDetail>(
  seen: readonly Seen<Detail>[],
  { connectMs }: Addressed<Detail>,
  { log }: RunContext,
): Promise<Outcome<Detail>> {
  const worst = seen.reduce((one, other) => (badness(other.outcome) > badness(one.outcome) ? other : one));
  const attempts = seen.map(
    ({ family, outcome }): Attempt => ({
      family,
      connectMs: connectMs(outcome.detail),
      failedMs: outcome.responseTimeMs,
    }),
  );
  const chosen = browsersChoice(attempts);
  const addresses = seen.map(({ address, family, outcome }, index): AddressVerdict => {
    const { failure: failed, responseTimeMs } = outcome;
    return {
      ...{ address, ipFamily: family === 6 ? 'IPv6' : 'IPv4' },
      verdict: verdictName(outcome),
      ...{ code: failed?.code ?? null, message: failed?.message ?? null },
      ...{ responseTime: responseTimeMs, isBrowsersChoice: index === chosen },
    };
  });
  await worst.handOver();
  const { outcome } = worst;
  const failed = outcome.failure && named(outcome.failure, worst, addresses);
  const expiries = seen.flatMap((one) => one.outcome.certificateExpiresAt ?? []);
  return {
    ...outcome,
    ...(failed && { failure: failed, errorMessages: [failed.message] }),
    ...(expiries.length > 0 && { certificateExpiresAt: Math.min(...expiries) }),
    detail: { ...outcome.detail, addresses, jobLog: jobLogOf(log) },
  };
}

/** Rewords the failure of one address to name all addresses that failed. */
function named(
  failed: Failure,
  { address, family }: Seen<unknown>,
  addresses: readonly AddressVerdict[],
): Failure {
  const failing = addresses.filter(({ verdict }) => verdict === 'failed');
  const names = failing.map((one) => one.address ?? one.ipFamily);
  const list = failing.length > 1 ? ` (${names.join(', ')})` : '';
  const count = `${failing.length} of ${addresses.length} addresses failed${list}`;
  return reworded(failed, `${count}: ${address ?? `IPv${family}`}: ${failed.message}`);
}

function watched(
  inner: NameResolver,
  onResolved: (name: string, addresses: readonly ResolvedAddress[]) => void,
): NameResolver {
  const resolver: Resolver = inner;
  return withServersOf(inner, async (name, family, controls) => {
    const addresses = await resolver.resolve(name, family, controls);
    onResolved(name, addresses);
    return addresses;
  });
}

function pinned(inner: NameResolver, pinnedName: string, address: ResolvedAddress): NameResolver {
  const resolver: Resolver = inner;
  return withServersOf(inner, async (name, family, controls) => {
    if (name !== pinnedName) return await resolver.resolve(name, family, controls);
    controls?.onMeasured?.(ownAnswer);
    return [address];
  });
}

/** Resolves to addresses of one family only, without a fallback to the other. */
function ofFamily(inner: NameResolver, wanted: IpFamily): NameResolver {
  const resolver: Resolver = inner;
  return withServersOf(inner, async (name, family, controls) => {
    if (family !== 'any' && family !== wanted) {
      controls?.onMeasured?.(ownAnswer);
      throw new ResolveError('not-found', 'ENODATA', `${name} has no IPv${wanted} address`);
    }
    return await resolver.resolve(name, wanted, controls);
  });
}

function withServersOf(inner: NameResolver, resolve: Resolver['resolve']): NameResolver {
  return { resolve, ...(inner.nameServers && { nameServers: () => inner.nameServers?.() ?? [] }) };
}
