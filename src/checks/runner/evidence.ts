import type { ContactAttempt } from '@picket/probes/connection/target.ts';
import type { ConnectionPolicy } from '@picket/probes/egress/policy.ts';
import type { DiagnosedRoute } from '../contract/facts.ts';
import type { ArtifactSink } from '../contract/run-context.ts';
import type { RunLog } from '../contract/run-log.ts';

/** Limits of a diagnosis, and the destinations it may contact. */
export interface DiagnosisControls {
  readonly egress: ConnectionPolicy;
  readonly signal: AbortSignal;
  /** In milliseconds from now. */
  readonly timeoutMs: number;
}

/** The exchange to repeat for the capture, or the part of it that does no harm. */
export interface Repetition {
  /** Name of the repeated part in the log. */
  readonly what: 'request' | 'connection' | 'query' | 'pings';
  /** @returns its outcome, in words. */
  run(
    controls: DiagnosisControls & { readonly onAttempt: (attempt: ContactAttempt) => void },
  ): Promise<string>;
}

/** Evidence of a diagnosis in a result: names of artifacts, and the path for programs. */
export interface Evidence {
  readonly route: DiagnosedRoute | null;
  readonly pcapDataUrl: string | null;
  readonly jobAssets: string[] | null;
}

export const noEvidence: Evidence = { route: null, pcapDataUrl: null, jobAssets: null };

export const captureName = 'network.pcap';
export const routeName = 'traceroute.txt';

/** Findings of a diagnosis, not yet written anywhere. */
export interface Findings {
  readonly remarks: readonly string[];
  readonly capture?: Buffer | undefined;
  /** The path to the target: as data, and as the text of a file. */
  readonly route?: { readonly path: DiagnosedRoute; readonly text: string } | undefined;
}

/** Findings without evidence, for that reason. */
export const nothingFound = (reason: string): Findings => ({
  remarks: [`no packet capture and no traceroute: ${reason}`],
});

/** Hands the evidence over and writes the remarks to the run's log. */
export async function keepEvidence(findings: Findings, sink: ArtifactSink, log: RunLog): Promise<Evidence> {
  for (const remark of findings.remarks) log.write('INFO', `Diagnosis: ${remark}`);
  const { capture, route } = findings;
  const isCaptureKept =
    capture !== undefined &&
    (await sink.add({ name: captureName, contentType: 'application/vnd.tcpdump.pcap', content: capture }));
  const isRouteKept =
    route !== undefined &&
    (await sink.add({
      name: routeName,
      contentType: 'text/plain; charset=utf-8',
      content: Buffer.from(route.text),
    }));
  return {
    route: route?.path ?? null,
    pcapDataUrl: isCaptureKept ? captureName : null,
    jobAssets: isRouteKept ? [routeName] : null,
  };
}
