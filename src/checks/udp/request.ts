import { type Failure, failure } from '../contract/failure.ts';
import { parseHostname } from '../contract/target.ts';
import type { Assertion } from '../judging/assertion.ts';
import { render, TemplateError } from '../judging/templating.ts';
import { isHex, maxDatagramBytes, type UdpSpec } from './spec.ts';

/** A datagram that can be sent: templates filled in. */
export interface PreparedDatagram {
  readonly hostname: string;
  /** As it is written. */
  readonly text: string;
  readonly data: Buffer;
  readonly assertions: readonly Assertion[];
}

/** Fills in the templates of a UDP monitor, or says what is wrong with the definition. */
export function prepareDatagram(
  request: UdpSpec['request'],
  variables: Readonly<Record<string, string>>,
): { readonly prepared: PreparedDatagram } | { readonly failure: Failure } {
  try {
    const written = render(request.hostname, variables, 'raw');
    const hostname = parseHostname(written);
    if (hostname === undefined) {
      const message = `${JSON.stringify(written)} is neither a host name nor an address`;
      return { failure: failure('HOST_INVALID', `${message}; scheme, port and path do not belong there`) };
    }
    const text = render(request.data, variables, 'raw');
    if (request.dataFormat === 'HEX' && !isHex(text)) {
      return { failure: failure('REQUEST_INVALID', 'data is not in pairs of hexadecimal digits') };
    }
    const data =
      request.dataFormat === 'HEX' ? Buffer.from(text.replaceAll(/\s/g, ''), 'hex') : Buffer.from(text);
    if (data.length > maxDatagramBytes) {
      const message = `data has ${data.length} bytes, and a datagram carries ${maxDatagramBytes} at most`;
      return { failure: failure('REQUEST_INVALID', message) };
    }
    const assertions = request.assertions.map((assertion) => ({
      ...assertion,
      target: render(assertion.target, variables, 'raw'),
    }));
    return { prepared: { hostname, text, data, assertions } };
  } catch (thrown) {
    if (thrown instanceof TemplateError) return { failure: failure('TEMPLATE_INVALID', thrown.message) };
    throw thrown;
  }
}
