import { type PicketProcess, startPicket } from '../picket-process.ts';
import { until } from './service.ts';

const startTimeoutMs = 60_000;

/** A service process that listens, and calls of its API. */
export interface ServiceProcess {
  readonly process: PicketProcess;
  readonly url: string;
  /** Calls it with the bootstrap key unless told otherwise. */
  call(
    method: string,
    path: string,
    body?: unknown,
    credential?: string,
    // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  ): Promise<{ readonly status: number; readonly body: any }>;
}

/**
 * Starts a service process and waits for the line that says where it listens.
 *
 * @param onStarted is told of the process at once, so that whoever waits can end it.
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
