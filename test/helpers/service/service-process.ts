import { type PicketProcess, startPicket } from '../picket-process.ts';
import { until } from './service.ts';

const startTimeoutMs = 60_000;

/** A service process that listens, and its API. */
export interface ServiceProcess {
  readonly process: PicketProcess;
  readonly url: string;
  /** Calls the API with the bootstrap key by default. */
  call(
    method: string,
    path: string,
    body?: unknown,
    credential?: string,
    // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  ): Promise<{ readonly status: number; readonly body: any }>;
}

/**
 * Starts a service process and waits for the log line with its address.
 *
 * @param onStarted receives the process at once, so that the caller can end it while waiting.
 */
export async function startServiceProcess(
  environment: Readonly<Record<string, string>>,
  onStarted: (process: PicketProcess) => void,
): Promise<ServiceProcess> {
  const process = startPicket(['service'], { PORT: '0', HOST: '127.0.0.1', ...environment });
  onStarted(process);
  const line = await until(
    'the service listens',
    () => {
      if (process.child.exitCode !== null) throw new Error(process.output());
      return /"address":"([^"]+)"/.exec(process.output());
    },
    startTimeoutMs,
  );
  const url = line[1] ?? '';
  const call: ServiceProcess['call'] = async (
    method,
    path,
    body,
    credential = environment.BOOTSTRAP_API_KEY,
  ) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${credential}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  };
  return { process, url, call };
}
