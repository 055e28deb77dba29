import { wireAddress } from '@picket/probes/address.ts';
import {
  type IcmpProbeControls,
  type IcmpProbeRequest,
  type IcmpProbeResult,
  probeIcmp,
} from '@picket/probes/icmp/probe.ts';
import type { RunContext } from '../contract/run-context.ts';
import { type Diagnosed, withDiagnosis } from '../runner/diagnosis.ts';
import type { Reading } from '../runner/probe-runner.ts';
import { pinnedResolver } from '../runner/repeat-connection.ts';

/** The fewest pings that show whether the loss continues. */
const repeatedPings = 3;

/** Pings of a check and their result. */
export interface ReadPings<Detail> {
  readonly result: IcmpProbeResult;
  readonly reading: Reading<Detail>;
}

/**
 * Pings a host, and gathers evidence if the network loses too many packets: the result of a few more pings, packet by
 * packet.
 */
export async function pingWithDiagnosis<Detail>(
  pings: {
    readonly train: IcmpProbeRequest;
    readonly controls: IcmpProbeControls;
    readonly hold: () => Promise<ReadPings<Detail>>;
  },
  context: RunContext,
): Promise<Diagnosed<ReadPings<Detail>>> {
  const { train, controls, hold } = pings;
  return await withDiagnosis(
    {
      async hold(onAttempt) {
        const held = await hold();
        const { address, family } = held.result;
        if (address === null) return held;
        const { hostname } = train;
        const wire = wireAddress({ address, family }).address;
        onAttempt({
          protocol: 'icmp',
          hostname,
          isSecure: false,
          address: wire,
          port: 0,
          localPort: () => 0,
        });
        return held;
      },
      // Assertions and response times say nothing about the network.
      failureOf: ({ reading }) => reading.failure ?? reading.operationFailure,
      obstacleTo: ({ result }) => (result.address === null ? 'the name has no address to ping' : undefined),
      isSeenHanging: false,
      repetition: (peer) => ({
        what: 'pings',
        async run({ timeoutMs, signal, egress }) {
          const again = { ...controls, resolver: pinnedResolver(controls.resolver, peer) };
          const count = Math.min(train.count, repeatedPings);
          const { answers, error } = await probeIcmp(
            { ...train, count },
            { ...again, timeoutMs, signal, egress },
          );
          if (error) return `failed again: ${error.message}`;
          const answered = answers.filter(({ kind }) => kind === 'reply').length;
          return `${answered} of ${count} were answered`;
        },
      }),
    },
    controls,
    context,
  );
}
