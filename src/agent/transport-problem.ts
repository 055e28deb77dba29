import { toError } from '../lib/errors.ts';

/** The largest answer that is taken from the service. */
export const maxAnswerBytes = 32 * 1024 * 1024;

/** Why a call never got its answer, in words for an operator; with what to do where that is known. */
export function explainTransport(thrown: unknown): string {
  const error = toError(thrown);
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof AggregateError && error.errors.length > 0) return explainTransport(error.errors[0]);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return `the answer is larger than ${maxAnswerBytes} bytes`;
  const text = code && !error.message.includes(code) ? `${code}: ${error.message}` : error.message;
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED') {
    return `${text} (if the certificate is in order, this machine's clock is wrong)`;
  }
  if (code?.includes('CERT') || code?.includes('SIGNATURE')) {
    return `${text} (put the certificate of your own authority into CA_CERTS_DIR, or name it in NODE_EXTRA_CA_CERTS)`;
  }
  return text;
}

/** The first of headers that should be there once. */
export function singleHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
