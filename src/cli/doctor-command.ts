import { examineAgent } from '@picket/agent/doctor/doctor.ts';
import { packageVersion } from '@picket/lib/version.ts';
import { findingText, hasProblems, summaryText } from './doctor-text.ts';

export interface DoctorOptions {
  readonly json?: boolean;
}

/** Shell convention: 128 plus the number of SIGINT. */
const interruptedCode = 130;
const clearLine = '\r\u001b[2K';

/**
 * `picket doctor`: examines the environment as an agent would find it, and prints each finding as soon as it is
 * available. A terminal also shows the current examination. The first Ctrl-C stops it in order, the second immediately.
 *
 * @returns the exit code: 0 without problems, 1 with problems, 130 if interrupted.
 */
export async function doctorCommand(
  options: DoctorOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { stdout, stderr } = process;
  const progress = (text: string) => {
    if (stderr.isTTY) stderr.write(clearLine + text);
  };
  const stop = new AbortController();
  const onInterrupt = () => {
    progress('… ending; press Ctrl-C again to end immediately');
    stop.abort(new DOMException('interrupted', 'AbortError'));
  };
  process.once('SIGINT', onInterrupt).once('SIGTERM', onInterrupt);
  try {
    const findings = await examineAgent(
      environment,
      {
        onBegin: (examination) => {
          if (!stop.signal.aborted) progress(`… ${examination}`);
        },
        onFinding: (finding) => {
          if (stop.signal.aborted) return;
          progress('');
          if (!options.json) stdout.write(`${findingText(finding, stdout)}\n`);
        },
      },
      stop.signal,
    );
    progress('');
    const isInterrupted = stop.signal.aborted;
    if (options.json) {
      const isHealthy = !isInterrupted && !hasProblems(findings);
      stdout.write(
        `${JSON.stringify({ version: packageVersion(), isHealthy, isInterrupted, findings }, null, 2)}\n`,
      );
    } else {
      stdout.write(isInterrupted ? 'Interrupted.\n' : `\n${summaryText(findings, stdout)}\n`);
    }
    if (isInterrupted) return interruptedCode;
    return hasProblems(findings) ? 1 : 0;
  } finally {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt);
  }
}
