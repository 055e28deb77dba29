import type { DetailSummary, SummarySection } from '../summary/detail-summary.ts';
import { code, comparedText, fact, took, traceFact } from '../summary/parts.ts';
import { certificateSections, probeParts } from '../summary/probe-parts.ts';
import type { GrpcDetail } from './detail.ts';

/** Summarizes a gRPC monitor's result for people. */
export function summaryOf(detail: GrpcDetail): DetailSummary {
  const { request, response } = detail;
  const call: SummarySection = {
    title: 'Call',
    line: { text: request.method },
    facts: [
      fact('Target', code(`${request.hostname}:${request.port}`)),
      fact('Health of', request.service === '' ? 'the whole server' : request.service),
      fact('TLS', request.tls ? 'yes' : 'no'),
      fact('Server name (SNI)', code(request.serverName)),
      traceFact(request.traceparent),
      fact('Address', response?.resolvedIp ?? null),
    ],
    headers: headersOf(request.metadata),
    texts: comparedText('Request message', request.message),
  };
  if (!response) return { ...probeParts(detail), sections: [call] };
  const { dns, connect, tls, settings, wait, download } = response.timingPhases;
  return {
    ...probeParts(detail),
    phases: [
      { name: 'DNS lookup', kind: 'dns', lengthMs: dns },
      { name: 'TCP connection', kind: 'tcp', lengthMs: connect },
      { name: 'TLS handshake', kind: 'tls', lengthMs: tls },
      { name: 'HTTP/2 settings', kind: 'other', lengthMs: settings },
      { name: 'Waiting for response', kind: 'first-byte', lengthMs: wait },
      { name: 'Response', kind: 'download', lengthMs: download },
    ],
    sections: [
      call,
      responseSection(response),
      { title: 'Trailers', headers: headersOf(response.trailers) },
      ...certificateSections(response.certificate),
    ],
  };
}

function responseSection(response: NonNullable<GrpcDetail['response']>): SummarySection {
  const { grpcStatusCode: status, grpcStatusName: name, healthStatusLabel } = response;
  const source = response.isStatusFromServer ? '' : ', set by the agent';
  return {
    title: 'Response',
    facts: [
      fact(
        'Status',
        `${status} ${name}${source}`,
        status === 0 ? null : response.grpcStatusMessage || 'not OK',
      ),
      fact('Health', healthStatusLabel, healthStatusLabel === 'SERVING' ? null : 'not serving'),
      fact('Messages', response.messageCount),
      fact('Stream', response.isStreamLeft ? 'cancelled after the requested number of messages' : null),
      fact('Reflection took', took(response.reflectionTimeMs)),
      fact('Methods of the service', response.discoveredMethods.join(', ') || null),
    ],
    headers: headersOf(response.metadata),
    texts: comparedText('Response message', response.responseMessage),
  };
}

/** Joins the values of repeated keys. */
function headersOf(metadata: GrpcDetail['request']['metadata']): Record<string, string> {
  const groups = Object.entries(Object.groupBy(metadata, ({ key }) => key));
  return Object.fromEntries(
    groups.map(([key, entries = []]) => [key, entries.map(({ value }) => value).join(', ')]),
  );
}
