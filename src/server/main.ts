import { AppError, errorCodeOf, toError } from '@picket/lib/errors.ts';
import { createLogger, type Logger } from '@picket/lib/log.ts';
import { standardOutput } from '@picket/lib/log-destination.ts';
import { optimizeSooner } from '@picket/lib/process/optimize-sooner.ts';
import { collectStartGarbage } from '@picket/lib/process/start-garbage.ts';
import { StopRequests } from '@picket/lib/process/stop-requests.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { readServiceConfig, type ServiceConfig } from '@picket/platform/config/config.ts';
import { type RunningService, startService } from './service.ts';

/** Time to write the last log lines; their reader may have stopped or exited. */
const logGraceMs = 500;

/**
 * Runs the service until SIGTERM or SIGINT, then drains and exits with code 0. A second signal, more than two seconds
 * later, exits at once with code 1.
 *
 * @throws AppError CONFIG_INVALID if it cannot start as configured.
 */
export async function runService(environment: Readonly<Record<string, string | undefined>>): Promise<void> {
  // Files that the service writes are private: databases, artifacts, the first key.
  process.umask(0o077);
  const config = readServiceConfig(environment);
  // pino does not write to it directly: if the reader has exited, pino would throw at exit, and keep the process from
  // ending.
  const output = standardOutput();
  const logger = createLogger('picket-service', config.LOG_LEVEL, output);
  let stopping: string | undefined;
  const stopped = Promise.withResolvers<void>();
  const stop = new AbortController();
  const requests = new StopRequests();
  const onSignal = (signal: NodeJS.Signals) => {
    const request = requests.take();
    if (request === 'same') return;
    if (request === 'hurry') {
      logger.warn({ signal }, 'second signal received; exiting immediately');
      process.exit(1);
    }
    stopping = signal;
    stop.abort();
    stopped.resolve();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);

  const service = await startService({ config, logger, stop: stop.signal }).catch(async (thrown: unknown) => {
    await output.close(logGraceMs);
    throw asStartError(toError(thrown), config);
  });
  logger.info(
    { address: service.address, version: packageVersion(), store: service.store.engine },
    'listening',
  );
  collectStartGarbage();
  optimizeSooner();
  await stopped.promise;
  logger.info({ signal: stopping }, 'shutting down');
  process.exitCode = await close(service, logger);
  process.off('SIGTERM', onSignal);
  process.off('SIGINT', onSignal);
  await output.close(logGraceMs);
  // All work is done; a client that keeps its connection open must not keep the process running.
  process.exit();
}

async function close(service: RunningService, logger: Logger): Promise<number> {
  try {
    await service.close();
    logger.info('stopped');
    return 0;
  } catch (thrown) {
    logger.error({ err: thrown }, 'shutdown failed');
    return 1;
  }
}

/** Converts a start error into one that names the remedy. */
function asStartError(error: Error, { PORT: port, HOST: host }: Pick<ServiceConfig, 'PORT' | 'HOST'>): Error {
  const code = errorCodeOf(error);
  if (code === 'EADDRINUSE') {
    return new AppError('CONFIG_INVALID', `PORT: port ${port} is in use by another process.`, {
      cause: error,
    });
  }
  const isListening = 'syscall' in error && ['listen', 'bind', 'getaddrinfo'].includes(String(error.syscall));
  if (isListening && code === 'EACCES') {
    return new AppError(
      'CONFIG_INVALID',
      `PORT: this user is not permitted to listen on port ${port}. Choose one above 1023.`,
      {
        cause: error,
      },
    );
  }
  if (isListening && host !== undefined) {
    return new AppError('CONFIG_INVALID', `HOST: ${host} is not an address of this machine (${code}).`, {
      cause: error,
    });
  }
  return error;
}
