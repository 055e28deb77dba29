import { durationText } from '../../lib/figures/duration.ts';
import type { DetailSummary, SummaryFact, SummarySection } from '../summary/detail-summary.ts';
import type { GrpcDetail } from './detail.ts';

const longestShown = 4000;

/** What people read of a gRPC monitor's result. */
export function summaryOf({ request, response }: GrpcDetail): DetailSummary {
  const call: SummarySection = {
    title: 'Call',
    facts: [
      fact('Target', `${request.hostname}:${request.port}`),
      fact('Method', request.method),
      fact('Service asked about', request.service === '' ? 'the server as a whole' : request.service),
      fact('Message', request.message === '' ? null : cut(request.message)),
      fact('TLS', request.tls ? 'yes' : 'no'),
      fact('Name for TLS', request.serverName),
      fact('Address', response?.resolvedIp ?? null),
      ...request.metadata.map(({ key, value }) => fact(`Metadata ${key}`, value)),
    ],
  };
  if (!response) return { phases: [], sections: [call] };
  const { dns, connect, tls, settings, wait, download } = response.timingPhases;
  return {
    phases: [
      { name: 'Name (DNS)', kind: 'dns', lengthMs: dns },
      { name: 'Connection (TCP)', kind: 'tcp', lengthMs: connect },
      { name: 'Handshake (TLS)', kind: 'tls', lengthMs: tls },
      { name: 'Settings (HTTP/2)', kind: 'other', lengthMs: settings },
      { name: 'Wait for the answer', kind: 'first-byte', lengthMs: wait },
      { name: 'Answer', kind: 'download', lengthMs: download },
    ],
    sections: [call, answerSection(response), ...metadataSections(response)],
  };
}

function answerSection(response: NonNullable<GrpcDetail['response']>): SummarySection {
  const { grpcStatusCode: code, grpcStatusName: name, healthStatusLabel, certificate } = response;
  const source = response.isStatusFromServer ? '' : ', by the agent';
  return {
    title: 'Answer',
    facts: [
      fact('Status', `${code} ${name}${source}`, code === 0 ? null : response.grpcStatusMessage || 'not OK'),
      fact('Health', healthStatusLabel, healthStatusLabel === 'SERVING' ? null : 'not serving'),
      fact('Messages', response.messageCount),
      fact('Stream', response.isStreamLeft ? 'left before its end, as it should be' : null),
      fact('Message', response.responseMessage === null ? null : cut(response.responseMessage)),
      fact(
        'Reflection took',
        response.reflectionTimeMs === null ? null : durationText(response.reflectionTimeMs),
      ),
      fact('Methods of the service', response.discoveredMethods.join(', ') || null),
      fact('Certificate', certificate?.subject ?? null),
      fact('Certificate valid to', certificate?.validTo ?? null),
    ],
  };
}

function metadataSections({ metadata, trailers }: NonNullable<GrpcDetail['response']>): SummarySection[] {
  const sections = [
    { title: 'Metadata of the answer', entries: metadata },
    { title: 'Trailers', entries: trailers },
  ];
  return sections.flatMap(({ title, entries }) =>
    entries.length === 0 ? [] : [{ title, facts: entries.map(({ key, value }) => fact(key, value)) }],
  );
}

function cut(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

function fact(name: string, value: string | number | null, problem: string | null = null): SummaryFact {
  return { name, value, problem };
}
