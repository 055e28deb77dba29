import { type IcmpBackend, IcmpUnavailable } from './backend.ts';
import { KernelBackend } from './kernel-backend.ts';
import { NetPingBackend } from './net-ping/backend.ts';
import { PingProgram } from './ping-program.ts';

/** What makes ICMP possible where nothing is. */
export const icmpFix =
  'Set the sysctl net.ipv4.ping_group_range to "0 2147483647", or give the agent the capability NET_RAW.';

/** The ways to ping, best first. */
const ways: readonly (() => Promise<IcmpBackend>)[] = [
  () => KernelBackend.open(),
  () => NetPingBackend.open(),
  () => PingProgram.open(),
];

/**
 * The best way to ping that works here; each is tried on this host itself.
 *
 * @throws IcmpUnavailable that says what is in the way of each, and which setting helps.
 */
export async function openIcmpBackend(): Promise<IcmpBackend> {
  const reasons: string[] = [];
  for (const open of ways) {
    try {
      return await open();
    } catch (thrown) {
      if (!(thrown instanceof IcmpUnavailable)) throw thrown;
      reasons.push(thrown.message);
    }
  }
  throw new IcmpUnavailable(`ICMP is unavailable here: ${reasons.join('; ')}. ${icmpFix}`);
}
