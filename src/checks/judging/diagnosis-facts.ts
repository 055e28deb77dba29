import type { DiagnosedRoute } from '../contract/facts.ts';
import { type FactFile, hostOf, logFacts, noFacts, phaseFacts, type RunFacts } from '../contract/facts.ts';
import { routeOfOlderAgent } from './older-agents.ts';

/** Log and diagnosis in the details of all network probes. */
interface DiagnosedDetail {
  readonly jobLog: Parameters<typeof logFacts>[0];
  readonly jobAssets: readonly string[] | null;
  readonly pcapDataUrl: string | null;
  readonly route?: DiagnosedRoute | null | undefined;
}

/** Fields of these details that name artifacts. */
export const diagnosisArtifactFields = ['pcapDataUrl', 'jobAssets'] as const;

/** Facts from a diagnosis and from the log of the run. */
export function diagnosisFacts(
  detail: DiagnosedDetail,
): Pick<RunFacts, 'route' | 'router' | 'log' | 'files'> {
  const { jobLog, jobAssets, pcapDataUrl } = detail;
  const log = logFacts(jobLog);
  const route = detail.route === undefined ? routeOfOlderAgent(log) : detail.route;
  const files: FactFile[] = [
    ...(pcapDataUrl === null ? [] : [{ name: pcapDataUrl, type: 'PCAP' } as const]),
    ...(jobAssets ?? []).map((name) => ({ name, type: 'TRACE_ROUTE' }) as const),
  ];
  return { route, router: route?.router ?? null, log, files };
}

/** Details of probes that ask one port and time the answer by phases. */
interface ExchangeDetail extends DiagnosedDetail {
  readonly request: { readonly hostname: string; readonly port: number };
  readonly response: {
    readonly ipAddress: string | null;
    readonly timingPhases: Readonly<Record<string, number>> | null;
  } | null;
  readonly assertions: RunFacts['assertions'];
}

/** Facts of such a probe, without those of its answer. */
export function exchangeFacts(detail: ExchangeDetail): RunFacts {
  const { request, response, assertions } = detail;
  return {
    ...noFacts,
    ...diagnosisFacts(detail),
    host: hostOf(request.hostname),
    port: request.port,
    address: response?.ipAddress ?? null,
    phases: phaseFacts(response?.timingPhases ?? null),
    assertions,
  };
}
