import { toError } from '@picket/lib/errors.ts';
import type { z } from 'zod';
import { isNestedDeeperThan } from './json-depth.ts';
import { ServiceError } from './service-error.ts';

/** Size limit of a response, in bytes. */
export const maxAnswerBytes = 32 * 1024 * 1024;
const maxAnswerDepth = 100;

/** Reads the body of a response with its schema. */
export function parseAnswer<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  what: string,
): z.output<Schema> {
  const unreadable = (why: string) => new ServiceError('unreachable', `${what}: the response ${why}`);
  if (isNestedDeeperThan(text, maxAnswerDepth))
    throw unreadable(`nests deeper than ${maxAnswerDepth} levels`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    // The message of a SyntaxError quotes the text, which may hold variables; only the length is reported.
    throw unreadable(`is not JSON (${text.length} characters, ${toError(thrown).name})`);
  }
  const checked = schema.safeParse(parsed);
  if (checked.success) return checked.data;
  const places = checked.error.issues.slice(0, 5).map((issue) => issue.path.join('.') || 'the whole');
  throw unreadable(`does not match the protocol at ${places.join(', ')}`);
}

/** Why a call got no response, in words. */
export function explain(thrown: unknown): string {
  const error = toError(thrown);
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof AggregateError && error.errors.length > 0) return explain(error.errors[0]);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return `the response is larger than ${maxAnswerBytes} bytes`;
  const text = code && !error.message.includes(code) ? `${code}: ${error.message}` : error.message;
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED') {
    return `${text} (if the certificate is valid, the clock of this machine is wrong)`;
  }
  if (code?.includes('CERT') || code?.includes('SIGNATURE')) {
    return `${text} (add your CA certificate to CA_CERTS_DIR, or set NODE_EXTRA_CA_CERTS)`;
  }
  return text;
}
