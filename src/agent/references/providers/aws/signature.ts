import { createHash, createHmac } from 'node:crypto';

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

/**
 * Headers of a POST or GET without a query, signed with version 4 (AWS General Reference, "Signature Version 4 signing
 * process").
 *
 * @param request.headers names in lower case; all of them are signed.
 */
export function signedHeaders(
  request: {
    readonly method: 'GET' | 'POST';
    readonly url: URL;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  scope: { readonly region: string; readonly service: string; readonly epochMs: number },
  keys: AwsKeys,
): Record<string, string> {
  const instant = new Date(scope.epochMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-date': instant,
    ...(keys.sessionToken === undefined ? {} : { 'x-amz-security-token': keys.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.url.pathname,
    '',
    ...names.map((name) => `${name}:${headers[name]?.trim()}`),
    '',
    names.join(';'),
    sha256(request.body),
  ].join('\n');
  const day = instant.slice(0, 8);
  const place = [day, scope.region, scope.service, 'aws4_request'];
  const toSign = ['AWS4-HMAC-SHA256', instant, place.join('/'), sha256(canonical)].join('\n');
  const key = place.reduce<Buffer>(
    (last, part) => hmac(last, part),
    Buffer.from(`AWS4${keys.secretAccessKey}`),
  );
  const signature = hmac(key, toSign).toString('hex');
  const credential = `${keys.accessKeyId}/${place.join('/')}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
