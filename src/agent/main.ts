import { toError } from '../lib/errors.ts';
import { createLogger } from '../lib/log.ts';
import { standardOutput } from '../lib/log-destination.ts';
import { Agent } from './agent.ts';
import { readAgentSettings } from './config.ts';

/** How long the last log lines may take to leave; whoever reads them may have stopped. */
const logGraceMs = 500;

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Runs an agent until a signal stops it. The first signal drains, the second hurries; `process.exitCode` is then 0 when
 * no lease and no unsent result was left behind and nobody hurried, otherwise 1.
 *
 * @param environment the variables of `AgentConfig`.
 * @throws AppError CONFIG_INVALID listing every problem of the configuration.
 */
export async function runAgent(environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  const settings = readAgentSettings(environment);
  const output = standardOutput();
  const log = createLogger('picket-agent', settings.logLevel, output);
  const agent = new Agent(settings, log);
  const stopped = Promise.withResolvers<boolean>();
  const onSignal = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping');
    agent.stop().then(stopped.resolve, stopped.reject);
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  try {
    await agent.start();
    const isClean = await stopped.promise;
    log.info({ isClean }, 'stopped');
    if (!isClean) process.exitCode = 1;
  } catch (thrown) {
    log.fatal({ error: toError(thrown).name }, toError(thrown).message);
    throw thrown;
  } finally {
    for (const signal of stopSignals) process.off(signal, onSignal);
    await output.close(logGraceMs);
  }
}
