import { isRecord } from '@picket/lib/json/record.ts';
import { type Shorthand, withRequest, withScheme } from '../contract/definition/shorthand.ts';

/** Fields of a request, full or short, that only API checks have. */
const ownFields = ['body', 'json', 'headers', 'queryParameters', 'params', 'basicAuth', 'auth'];

export const apiShorthand: Shorthand = {
  names: ['HTTP', 'HTTPS', 'REST', 'GRAPHQL'],
  schemes: ['http', 'https'],
  needs: (fields) => {
    const request = { ...fields, ...(isRecord(fields['request']) ? fields['request'] : {}) };
    if (ownFields.some((name) => Object.hasOwn(request, name))) return true;
    if (String(request['method'] ?? 'GET').toUpperCase() !== 'GET') return true;
    const judged = JSON.stringify([request['assertions'] ?? [], request['expect'] ?? {}]);
    return /body|json|header|time|\$[.[]/i.test(judged);
  },
  complete: (fields) => withRequest(fields, (request) => ({ ...withScheme(request), ...withBody(request) })),
};

/** A structured body as JSON, and the type of a body that has none. */
function withBody({ body, bodyType }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (body === undefined || body === '') return {};
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { body: text, ...(bodyType === undefined ? { bodyType: isJson(text) ? 'JSON' : 'RAW' } : {}) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
