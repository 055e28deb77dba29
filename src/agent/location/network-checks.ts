import { promises as dns } from 'node:dns';
import { connect, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { errorCodeOf } from '@picket/lib/errors.ts';
import type { CanaryTarget } from '../canary-targets.ts';
import { healthy, type SelfCheck, type SelfCheckOutcome, unhealthy, unknown } from './host-checks.ts';

const answerTimeoutMs = 1000;
const tries = 2;
const connectTimeoutMs = 2000;
/** Results that prove that a resolver is reachable, even if it refuses the query. */
const aliveCodes: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'ENODATA',
  'EREFUSED',
  'ESERVFAIL',
  'ENOTIMP',
  'EFORMERR',
]);
/** Results of a resolver that cannot do its work. */
const brokenCodes: ReadonlySet<string> = new Set(['ESERVFAIL', 'EREFUSED']);

/**
 * Whether the resolver of this host responds: any response to a query for the root counts, because resolvers of private
 * networks need not know it. If the service has a host name, that must resolve, too. A query that never got a response
 * proves nothing: not every host has a resolver.
 */
export function resolverCheck(serviceHost: string): SelfCheck {
  const names = isIP(serviceHost) === 0 && serviceHost !== 'localhost' ? [serviceHost] : [];
  let hasAnswered = false;
  let hasFound = false;
  return {
    kind: 'resolver',
    async look() {
      // Created anew each time, because it reads resolv.conf on creation. Its sockets belong to this process; no thread
      // blocks.
      const resolver = new dns.Resolver({ timeout: answerTimeoutMs, tries });
      const [rootCode, ...nameCodes] = await Promise.all([
        codeOf(resolver.resolveSoa('.')),
        ...names.map((name) => codeOf(resolver.resolve4(name))),
      ]);
      const servers = resolver.getServers().join(', ');
      if (rootCode === undefined || aliveCodes.has(rootCode)) hasAnswered = true;
      else if (hasAnswered) return unhealthy(`the name servers (${servers}) do not respond: ${rootCode}`);
      else return unknown;
      const [nameCode] = nameCodes;
      if (names.length === 0) return healthy;
      if (nameCode === undefined || nameCode === 'ENODATA') hasFound = true;
      else if (hasFound && brokenCodes.has(nameCode)) {
        return unhealthy(`the name servers (${servers}) do not resolve the name of the service: ${nameCode}`);
      }
      return healthy;
    },
  };
}

/**
 * Whether the network of this host works: an interface other than loopback is up, if there ever was one, and a canary
 * responds, even with a refusal. Canaries that never responded and names that cannot be resolved are ignored.
 */
export function networkCheck(
  canaries: readonly CanaryTarget[],
  interfacesUp: () => number | undefined = externalInterfaces,
): SelfCheck {
  const known = new Set<CanaryTarget>();
  let hadInterface = false;
  return {
    kind: 'network',
    async look() {
      const upCount = interfacesUp();
      if (upCount === 0 && hadInterface) return unhealthy('no network interface is up');
      hadInterface ||= upCount !== undefined && upCount > 0;
      const answers = await Promise.all(
        canaries.map(async (canary) => ({ canary, outcome: await knock(canary) })),
      );
      for (const { canary, outcome } of answers) if (outcome === 'answered') known.add(canary);
      return verdictOf(answers.filter(({ canary, outcome }) => known.has(canary) && outcome !== 'unnamed'));
    },
  };
}

function verdictOf(
  answers: readonly { readonly canary: CanaryTarget; readonly outcome: string }[],
): SelfCheckOutcome {
  if (answers.length === 0) return unknown;
  if (answers.some(({ outcome }) => outcome === 'answered')) return healthy;
  const found = answers.map(({ canary: { host, port }, outcome }) => `${host}:${port} ${outcome}`);
  return unhealthy(`no canary is reachable: ${found.slice(0, 5).join(', ')}`);
}

/** Tries to connect; resolves with `answered`, `unnamed` if the name was not found, or the error. */
async function knock({ host, port }: CanaryTarget): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host, port, timeout: connectTimeoutMs });
  socket.once('connect', () => resolve('answered'));
  socket.once('timeout', () => resolve('ETIMEDOUT'));
  socket.once('error', (error) => {
    const code = errorCodeOf(error) ?? error.name;
    if (code === 'ECONNREFUSED') resolve('answered');
    else resolve(code === 'ENOTFOUND' || code === 'EAI_AGAIN' ? 'unnamed' : code);
  });
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

/**
 * Number of interfaces other than loopback that are up; undefined if unknown, for example without a free descriptor.
 */
function externalInterfaces(): number | undefined {
  try {
    return Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal }) => !internal).length;
  } catch (thrown) {
    if (errorCodeOf(thrown) === 'ERR_SYSTEM_ERROR') return undefined;
    throw thrown;
  }
}

/** The code of a failed lookup; undefined if it succeeded. */
async function codeOf(lookup: Promise<unknown>): Promise<string | undefined> {
  try {
    await lookup;
    return undefined;
  } catch (thrown) {
    return errorCodeOf(thrown) ?? 'EUNKNOWN';
  }
}
