import { toError } from '@picket/lib/errors.ts';
import { createLogger } from '@picket/lib/log.ts';
import { standardOutput } from '@picket/lib/log-destination.ts';
import { optimizeSooner } from '@picket/lib/process/optimize-sooner.ts';
import { collectStartGarbage } from '@picket/lib/process/start-garbage.ts';
import { StopRequests } from '@picket/lib/process/stop-requests.ts';
import { Agent } from './agent.ts';
import { readAgentSettings } from './config.ts';
import { crashSite } from './error-report/private-message.ts';
import { ownSecretsOf } from './own-secrets.ts';
import type { ThreadAhead } from './runners/threads/thread-ahead.ts';
import { scrubbedLog } from './scrub/scrubbed-log.ts';
import { Scrubber } from './scrub/scrubber.ts';

/** Time limit for the last log lines; their reader may be blocked. */
const logGraceMs = 500;
/** Time limit for a crashed agent to report its error to the service. */
const errorReportGraceMs = 2000;

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Runs an agent until a signal stops it. The first signal drains; a second one more than two seconds later hurries.
 * `process.exitCode` is then 0 if no lease is held, every result is sent or safe in the spool, and there was no second
 * signal; otherwise 1.
 *
 * @param environment the variables of `AgentConfig`.
 * @param probeThreads threads that are already loading.
 * @throws AppError CONFIG_INVALID listing every problem of the configuration.
 */
export async function runAgent(
  environment: Readonly<Record<string, string | undefined>>,
  probeThreads: readonly ThreadAhead[],
): Promise<void> {
  const settings = readAgentSettings(environment);
  const scrubber = new Scrubber(ownSecretsOf(settings));
  const output = scrubbedLog(standardOutput(), scrubber);
  const log = createLogger('picket-agent', settings.logLevel, output);
  const agent = new Agent(settings, { log, scrubber }, probeThreads);
  const stopped = Promise.withResolvers<boolean>();
  const requests = new StopRequests();
  const onSignal = (signal: NodeJS.Signals) => {
    const request = requests.take();
    if (request === 'same') return log.info({ signal }, 'stopping already');
    log.info({ signal }, request === 'stop' ? 'stopping' : 'second signal: stopping immediately');
    agent.stop().then(stopped.resolve, stopped.reject);
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  const onUncaught = (thrown: unknown) => {
    const error = toError(thrown);
    log.fatal({ crash: crashSite(error) }, 'agent crashed; another agent takes over its leases');
    // The state of the process is undefined now: report, then exit. The service manager restarts the agent.
    const end = () => process.exit(1);
    agent
      .reportFatal(error, errorReportGraceMs)
      .then(() => output.close(logGraceMs))
      .then(end, end);
  };
  process.on('uncaughtException', onUncaught);
  process.on('unhandledRejection', onUncaught);
  try {
    await agent.start();
    collectStartGarbage();
    optimizeSooner();
    const isClean = await stopped.promise;
    log.info({ isClean }, 'stopped');
    if (!isClean) process.exitCode = 1;
  } catch (thrown) {
    log.fatal({ error: toError(thrown).name }, toError(thrown).message);
    throw thrown;
  } finally {
    for (const signal of stopSignals) process.off(signal, onSignal);
    process.off('uncaughtException', onUncaught);
    process.off('unhandledRejection', onUncaught);
    await output.close(logGraceMs);
  }
}
