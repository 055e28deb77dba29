import { ProbeError } from '../connection/errors.ts';
import { queryDns } from '../dns/query.ts';
import type { DnsServer } from '../dns/server.ts';
import { reverseName } from '../dns/wire/name.ts';
import type { EgressPolicy } from '../egress/policy.ts';

/** Names of routers change rarely, and runs query the same ones every minute. */
const keptMs = 10 * 60_000;
const maxKept = 2000;
const maxNameLength = 253;

interface Known {
  readonly name: string | null;
  readonly untilMs: number;
}

export interface NameControls {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly egress: Pick<EgressPolicy, 'lookupRefusal'>;
}

const known = new Map<string, Known>();

/**
 * Looks up the PTR names of addresses, as far as the name server responds in time. Responses, including negative ones,
 * are cached for ten minutes.
 */
export async function routerNames(
  addresses: readonly string[],
  server: DnsServer | undefined,
  controls: NameControls,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  await Promise.all(
    addresses.map(async (address) => {
      const name = await nameOf(address, server, controls);
      if (name !== null) names.set(address, name);
    }),
  );
  return names;
}

async function nameOf(
  address: string,
  server: DnsServer | undefined,
  controls: NameControls,
): Promise<string | null> {
  const kept = known.get(address);
  if (kept && kept.untilMs > performance.now()) return kept.name;
  const asked = reverseName(address);
  if (asked === undefined || !server || controls.timeoutMs <= 0) return null;
  if (controls.egress.lookupRefusal(asked) !== undefined) return null;
  try {
    const { message } = await queryDns(
      { name: asked, type: 'PTR' },
      server,
      { protocol: 'UDP' },
      // The check did not choose the location's own server: the policy covers only the names in its queries.
      { ...controls, egress: { refusal: () => undefined } },
    );
    const record = message.answers.find(({ type }) => type === 'PTR');
    const name = record ? record.text.replace(/\.$/, '').slice(0, maxNameLength) || null : null;
    keep(address, name);
    return name;
  } catch (thrown) {
    // A router without a name is shown by its address.
    if (thrown instanceof ProbeError) return null;
    throw thrown;
  }
}

function keep(address: string, name: string | null): void {
  known.delete(address);
  known.set(address, { name, untilMs: performance.now() + keptMs });
  const [oldest] = known.keys();
  if (known.size > maxKept && oldest !== undefined) known.delete(oldest);
}
