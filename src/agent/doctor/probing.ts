import { toError } from '@picket/lib/errors.ts';
import { CaptureUnavailable, ConnectionCapture } from '@picket/probes/capture/capture.ts';
import { createEgressPolicy } from '@picket/probes/egress/policy.ts';
import { IcmpUnavailable } from '@picket/probes/icmp/backend.ts';
import { icmpFix, openIcmpBackend } from '@picket/probes/icmp/open-backend.ts';
import { loadLibc, SysUnavailable } from '@picket/probes/sys/libc.ts';
import type { Examination } from './examination.ts';
import { ok, problem, skipped, warning } from './examination.ts';
import { chosenTypes } from './offered-types.ts';

/** How this host sends pings. */
export const icmp: Examination = {
  name: 'icmp',
  async examine({ settings }) {
    if (!chosenTypes(settings).some(({ needsIcmp }) => needsIcmp)) {
      return skipped('CHECK_TYPES names no checks that ping');
    }
    try {
      const backend = await openIcmpBackend();
      await backend.close();
      return ok(backend.description);
    } catch (thrown) {
      if (!(thrown instanceof IcmpUnavailable)) throw thrown;
      const detail = thrown.message.replace(icmpFix, '').trim();
      return problem(detail, `${icmpFix} Kubernetes: securityContext.sysctls of the pod.`);
    }
  },
};

/** Whether packets of failed requests can be captured as evidence. */
export const capture: Examination = {
  name: 'capture',
  async examine() {
    try {
      const scope = {
        address: '127.0.0.1',
        family: 4 as const,
        port: 9,
        protocol: 'tcp' as const,
        payloadBytes: 0,
      };
      const started = ConnectionCapture.start(await loadLibc(), scope, { maxPackets: 1, maxBytes: 1024 });
      await started.stop();
      return ok('packets of failed requests can be captured');
    } catch (thrown) {
      if (!(thrown instanceof CaptureUnavailable) && !(thrown instanceof SysUnavailable)) throw thrown;
      return warning(
        `results of failed requests come without packets: ${toError(thrown).message}`,
        'Give the agent the capability NET_RAW if you want them; everything else works without it.',
      );
    }
  },
};

const metadataAddress = '169.254.169.254';

/** Addresses that checks may connect to. */
export const egress: Examination = {
  name: 'egress',
  async examine({ settings }) {
    const { allow, deny } = settings.egress;
    const policy = createEgressPolicy({ allow, deny, ownPorts: [settings.healthPort] });
    const rules = [
      ...(allow === '' ? [] : [`EGRESS_ALLOW=${allow}`]),
      ...(deny === '' ? [] : [`EGRESS_DENY=${deny}`]),
    ];
    const summary = rules.length === 0 ? 'the default rules apply' : rules.join(' ');
    if (policy.refusal({ hostname: metadataAddress, address: metadataAddress, port: 80 }) === undefined) {
      return warning(
        `${summary}: checks can reach the metadata service of a cloud (${metadataAddress}), and its credentials`,
        `Remove 169.254.0.0/16 from EGRESS_ALLOW, unless this is intended.`,
      );
    }
    return ok(`${summary}; cloud metadata services and link-local addresses are blocked`);
  },
};
