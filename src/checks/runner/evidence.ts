import type { ContactAttempt } from '@picket/probes/connection/target.ts';
import type { ConnectionPolicy } from '@picket/probes/egress/policy.ts';
import type { DiagnosedRoute } from '../contract/facts.ts';
import type { ArtifactSink } from '../contract/run-context.ts';
import type { RunLog } from '../contract/run-log.ts';

/** What a diagnosis may take, and where it may go. */
export interface DiagnosisControls {
  readonly egress: ConnectionPolicy;
  readonly signal: AbortSignal;
  /** In milliseconds from now. */
  readonly timeoutMs: number;
}

/** A conversation that is held again for the capture, or as much of it as does no harm. */
export interface Repetition {
  /** What is repeated, as the log calls it. */
  readonly what: 'request' | 'connection' | 'query' | 'pings';
  /** @returns what became of it, in words. */
  run(
    controls: DiagnosisControls & { readonly onAttempt: (attempt: ContactAttempt) => void },
  ): Promise<string>;
}

/** What a result shows of a diagnosis: names of artifacts, and the path as programs read it. */
export interface Evidence {
  readonly route: DiagnosedRoute | null;
  readonly pcapDataUrl: string | null;
  readonly jobAssets: string[] | null;
}

export const noEvidence: Evidence = { route: null, pcapDataUrl: null, jobAssets: null };

export const captureName = 'network.pcap';
export const routeName = 'traceroute.txt';

/** What was found out; nothing of it has been written anywhere yet. */
export interface Findings {
  readonly remarks: readonly string[];
  readonly capture?: Buffer | undefined;
  /** The path to the target: as data, and as the text of a file. */
  readonly route?: { readonly path: DiagnosedRoute; readonly text: string } | undefined;
}

/** No evidence, for that reason. */
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
