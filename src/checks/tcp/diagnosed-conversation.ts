import {
  probeTcp,
  type TcpProbeControls,
  type TcpProbeRequest,
  type TcpProbeResult,
} from '@picket/probes/tcp/probe.ts';
import type { Failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { type Diagnosed, withDiagnosis } from '../runner/diagnosis.ts';
import { connectionObstacle, pinnedResolver, repeatConnection } from '../runner/repeat-connection.ts';

/**
 * Runs the exchange of a check, and gathers evidence if the network makes it fail. If data were sent, the diagnosis
 * repeats only the connection: the data may change something at the target.
 *
 * @param failureOf returns why it failed; undefined if the check expects its result.
 */
export async function probeWithDiagnosis(
  request: TcpProbeRequest,
  controls: TcpProbeControls,
  context: RunContext,
  failureOf: (result: TcpProbeResult) => Failure | undefined,
): Promise<Diagnosed<TcpProbeResult>> {
  const { family, tls } = request;
  const target = {
    family,
    serverName: tls?.serverName,
    isCertificateChecked: tls?.isCertificateChecked ?? true,
    clientIdentity: undefined,
    alpnProtocols: [],
  };
  return await withDiagnosis(
    {
      hold: (onAttempt) => probeTcp(request, { ...controls, onAttempt }),
      failureOf,
      obstacleTo: ({ error }) => connectionObstacle(request, error),
      isSeenHanging: !request.proxy,
      repetition: (peer, isHanging) => {
        const isWhole = request.data === '' && request.isAnswerWanted && !isHanging;
        return {
          what: isWhole ? 'request' : 'connection',
          async run(given) {
            if (!isWhole) return await repeatConnection(target, peer, { ...controls, ...given });
            const resolver = pinnedResolver(controls.resolver, peer);
            const { error, answer } = await probeTcp(request, { ...controls, ...given, resolver });
            return error
              ? `failed again: ${error.message}`
              : `was answered this time, with ${answer.length} bytes`;
          },
        };
      },
    },
    controls,
    context,
  );
}
