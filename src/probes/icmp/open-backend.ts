import { type IcmpBackend, IcmpUnavailable } from './backend.ts';
import { KernelBackend } from './kernel-backend.ts';
import { NetPingBackend } from './net-ping/backend.ts';

/** The settings that allow ICMP. */
export const icmpFix =
  'Set the sysctl net.ipv4.ping_group_range to "0 2147483647", or grant the agent the capability NET_RAW.';

/** In order of preference. */
const backends: readonly (() => Promise<IcmpBackend>)[] = [
  () => KernelBackend.open(),
  () => NetPingBackend.open(),
];

/**
 * Opens the best backend that works here; each one pings this host as a test.
 *
 * @throws IcmpUnavailable that explains why each backend fails, and which setting to change.
 */
export async function openIcmpBackend(): Promise<IcmpBackend> {
  const reasons: string[] = [];
  for (const open of backends) {
    try {
      return await open();
    } catch (thrown) {
      if (!(thrown instanceof IcmpUnavailable)) throw thrown;
      reasons.push(thrown.message);
    }
  }
  throw new IcmpUnavailable(`ICMP is unavailable on this host: ${reasons.join('; ')}. ${icmpFix}`);
}
