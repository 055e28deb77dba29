import { bareHostname } from '@picket/probes/connection/forward-proxy.ts';
import type { ContactAttempt } from '@picket/probes/connection/target.ts';
import {
  type HttpProbeControls,
  type HttpProbeRequest,
  type HttpProbeResult,
  probeHttp,
} from '@picket/probes/http/probe.ts';
import type { RunContext } from '../contract/run-context.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { type Diagnosed, withDiagnosis } from '../runner/diagnosis.ts';
import { connectionObstacle, pinnedResolver, repeatConnection } from '../runner/repeat-connection.ts';

/** The response of a repeated request is not used. */
const maxBodyBytes = 64 * 1024;

/** Methods that change nothing at the target (RFC 9110 section 9.2.1): repeating them does no harm. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Sends the request of a check, and gathers evidence if the network makes it fail. */
export async function probeWithDiagnosis(
  request: HttpProbeRequest,
  controls: HttpProbeControls,
  context: RunContext,
): Promise<Diagnosed<HttpProbeResult>> {
  const isSafe = safeMethods.has(request.method);
  return await withDiagnosis(
    {
      hold: (onAttempt) => probeHttp(request, { ...controls, onAttempt }),
      failureOf: ({ error }) => error && probeFailure(error),
      obstacleTo: ({ error }) => connectionObstacle(request, error),
      isSeenHanging: !request.proxy,
      repetition: (peer, isHanging) => ({
        what: isSafe && !isHanging ? 'request' : 'connection',
        run: (given) => repeat(request, peer, isSafe && !isHanging, { ...controls, ...given }),
      }),
    },
    controls,
    context,
  );
}

/** Repeats a request to the address at which it failed, or only its connection. */
async function repeat(
  request: HttpProbeRequest,
  peer: ContactAttempt,
  isWhole: boolean,
  controls: HttpProbeControls,
): Promise<string> {
  const { hostname, isSecure } = peer;
  if (!isWhole) {
    const target = {
      family: request.family,
      serverName: hostname === bareHostname(request.url) ? request.serverName : undefined,
      isCertificateChecked: request.isCertificateChecked,
      clientIdentity: isSecure ? request.clientIdentityFor?.(hostname) : undefined,
      alpnProtocols: ['h2', 'http/1.1'],
    };
    return await repeatConnection(target, peer, controls);
  }
  const resolver = pinnedResolver(controls.resolver, peer);
  const result = await probeHttp({ ...request, maxBodyBytes }, { ...controls, resolver });
  if (result.error) return `failed again: ${result.error.message}`;
  return `was answered this time, with status ${result.head?.status}`;
}
