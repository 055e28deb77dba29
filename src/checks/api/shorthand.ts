import { isRecord } from '@picket/lib/json/record.ts';
import { type Shorthand, withRequest, withScheme } from '../contract/definition/shorthand.ts';
import { withAuth } from '../http/auth/shorthand.ts';

/** Fields of a request, full or short, that only API checks have. */
const ownFields = ['body', 'json', 'headers', 'queryParameters', 'params', 'basicAuth', 'auth'];

export const apiShorthand: Shorthand = {
  names: ['HTTP', 'HTTPS', 'REST', 'GRAPHQL'],
  schemes: ['http', 'https'],
  needs: (fields) => {
    const request = { ...fields, ...(isRecord(fields['request']) ? fields['request'] : {}) };
    if (ownFields.some((name) => Object.hasOwn(request, name))) return true;
    if (String(request['method'] ?? 'GET').toUpperCase() !== 'GET') return true;
    // A text is one that the body must contain.
    if (typeof request['expect'] === 'string') return true;
    const judged = JSON.stringify([request['assertions'] ?? [], request['expect'] ?? {}]);
    return /body|json|header|time|\$[.[]/i.test(judged);
  },
  complete: (fields) =>
    withRequest(fields, (request) => ({
      ...withScheme(request),
      ...withBody(request),
      ...withAuth(request),
    })),
};

/** A structured body as JSON. A text stays as it is: the API takes it with any type. */
function withBody({ body, bodyType }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!isRecord(body) && !Array.isArray(body)) return {};
  return { body: JSON.stringify(body), bodyType: bodyType ?? 'JSON' };
}
