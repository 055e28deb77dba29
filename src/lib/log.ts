import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger };

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Keys whose values are never written, wherever a caller puts them. The stronger house rule is that no code logs a
 * check's specification, its variables or a key; this list catches mistakes.
 */
const neverLogged = [
  'authorization',
  'apiKey',
  'rawKey',
  'spec',
  'environment',
  'environmentVariables',
  'headers',
];

/**
 * Root logger of a process: JSON lines on stdout, times in ISO 8601, levels as words. A process that must keep running
 * and exit whatever happens to its stdout passes `standardOutput()` of log-destination.ts and closes it at the end.
 */
export function createLogger(name: string, level: LogLevel, destination?: DestinationStream): Logger {
  return pino(
    {
      name,
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: neverLogged.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]),
        censor: '[redacted]',
      },
    },
    destination ?? pino.destination({ dest: 1, sync: false, minLength: 0 }),
  );
}
