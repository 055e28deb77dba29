import { type Failure, failure } from '../contract/failure.ts';
import { decodeText } from '../http/body.ts';
import type { Assertion } from '../judging/assertion.ts';
import { filledAssertions, filledHostname } from '../judging/filled.ts';
import { render } from '../judging/templating.ts';
import { isHex, maxDatagramBytes, type UdpSpec } from './spec.ts';

/** A prepared datagram: templates filled in, except those of steps, which may use values captured by earlier steps. */
export interface PreparedDatagram {
  readonly hostname: string;
  /** In the format of the definition; empty with steps. */
  readonly text: string;
  readonly assertions: readonly Assertion[];
}

/** Fills in the templates of a UDP monitor, or returns what is wrong with the definition. @throws TemplateError */
export function prepareDatagram(
  request: UdpSpec['request'],
  variables: Readonly<Record<string, string>>,
): PreparedDatagram | { readonly failure: Failure } {
  const named = filledHostname(request.hostname, variables);
  if ('failure' in named) return named;
  const text = render(request.data, variables, 'raw');
  const { problem } = datagramOf(text, request.dataFormat);
  if (problem !== undefined) return { failure: failure('REQUEST_INVALID', problem) };
  // Captured values are not known yet, but invalid templates are found.
  for (const step of request.steps) for (const part of [step.data, step.text]) render(part, variables, 'raw');
  return { ...named, text, assertions: filledAssertions(request.assertions, variables) };
}

type Datagram =
  | { readonly data: Buffer; readonly problem?: undefined }
  | { readonly data?: undefined; readonly problem: string };

/** Returns the bytes of a text, or why it is invalid. */
export function datagramOf(text: string, format: UdpSpec['request']['dataFormat']): Datagram {
  if (format === 'HEX' && !isHex(text)) return { problem: 'data is not in pairs of hexadecimal digits' };
  const data = format === 'HEX' ? Buffer.from(text.replaceAll(/\s/g, ''), 'hex') : Buffer.from(text);
  if (data.length <= maxDatagramBytes) return { data };
  return { problem: `data has ${data.length} bytes, and a datagram carries ${maxDatagramBytes} at most` };
}

/** Converts a reply to the form of assertions and results. */
export function answerText(answer: Buffer, format: UdpSpec['request']['dataFormat']): string {
  return format === 'HEX' ? answer.toString('hex') : decodeText(answer, '');
}
