import type { ProbeError } from '@picket/probes/connection/errors.ts';
import type { ForwardProxy } from '@picket/probes/connection/forward-proxy.ts';
import type { ContactAttempt } from '@picket/probes/connection/target.ts';
import type { Failure } from '../contract/failure.ts';
import type { RunContext } from '../contract/run-context.ts';
import { probeFailure } from '../judging/probe-failure.ts';
import { type Diagnosed, withDiagnosis } from './diagnosis.ts';
import type { ProbeControls } from './probe-runner.ts';
import { connectionObstacle, repeatConnection } from './repeat-connection.ts';

/**
 * An exchange over one connection. Its data may change something at the target, so a diagnosis repeats only the
 * connection.
 */
export interface OneConnection<Result> {
  readonly proxy: ForwardProxy | undefined;
  hold(onAttempt: (attempt: ContactAttempt) => void): Promise<Result>;
  /** Returns why it failed; undefined if the check expects its result. If absent, every error is a failure. */
  failureOf?(result: Result): Failure | undefined;
  target(): Parameters<typeof repeatConnection>[0];
}

interface Held {
  readonly error: ProbeError | undefined;
}

const failureOfError = ({ error }: Held) => error && probeFailure(error);

/** Runs the exchange of a check, and gathers evidence if the network makes it fail. */
export function withConnectionDiagnosis<Result extends Held>(
  connection: OneConnection<Result>,
  controls: ProbeControls,
  context: RunContext,
): Promise<Diagnosed<Result>> {
  return withDiagnosis(
    {
      hold: connection.hold,
      failureOf: connection.failureOf ?? failureOfError,
      obstacleTo: ({ error }) => connectionObstacle(connection, error),
      isSeenHanging: !connection.proxy,
      repetition: (peer) => ({
        what: 'connection',
        run: (given) => repeatConnection(connection.target(), peer, { ...controls, ...given }),
      }),
    },
    controls,
    context,
  );
}
