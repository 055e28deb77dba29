import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { listen, type Target } from './listening.ts';

/** Settings of a server that asks for Digest credentials, as RFC 7616 has it. */
export interface DigestTargetOptions {
  readonly username: string;
  readonly password: string;
  /** Challenges in the order they are sent, each on a line of its own. */
  readonly challenges?: readonly string[];
  /** Requests that one nonce is good for; then it is stale. */
  readonly usesOfNonce?: number;
  /** Whether each connection ends with its response. */
  readonly closes?: boolean;
  /** Whether it breaks a connection when the second request comes over it. */
  readonly breaks?: boolean;
  /** Body of the challenge. */
  readonly challengeBody?: string;
  /** Response to a request with the right credentials; 200 when absent. */
  readonly redirectTo?: (path: string) => string | undefined;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  /** The client's port, which is the same for requests of one connection. */
  readonly port: number | undefined;
}

export interface DigestTarget extends Target {
  readonly requests: readonly SeenRequest[];
}

const hashes: Readonly<Record<string, string>> = {
  MD5: 'md5',
  'SHA-256': 'sha256',
  'SHA-512-256': 'sha512-256',
};

/** Starts a server that lets in whoever computes the right response to its nonce. */
export async function startDigestTarget(options: DigestTargetOptions): Promise<DigestTarget> {
  const { challenges = ['algorithm=SHA-256, qop="auth"'], usesOfNonce = 1_000, closes = false } = options;
  const requests: SeenRequest[] = [];
  let nonces = 0;
  let uses = 0;
  const server = createServer(async (request, response) => {
    const seen = await seenIn(request);
    if (options.breaks && requests.some(({ port }) => port === seen.port)) {
      request.socket.destroy();
      return;
    }
    requests.push(seen);
    const fields = fieldsOf(seen.authorization);
    const isCurrent = fields.get('nonce') === `nonce-${nonces}`;
    const isRight = isResponse(fields, seen, options);
    if (isRight && isCurrent && uses < usesOfNonce) {
      uses += 1;
      const location = options.redirectTo?.(seen.path);
      response.writeHead(location === undefined ? 200 : 302, { ...(location && { location }) });
      response.end('in');
      return;
    }
    nonces += 1;
    uses = 0;
    const stale = isRight ? ', stale=true' : '';
    const lines = challenges.map(
      (one) => `Digest realm="r \\"1\\"", nonce="nonce-${nonces}"${stale}, ${one}`,
    );
    response.writeHead(401, {
      'www-authenticate': lines,
      'set-cookie': `challenge=${nonces}`,
      ...(closes && { connection: 'close' }),
    });
    response.end(options.challengeBody ?? 'log in');
  });
  return { ...(await listen(server, { scheme: 'http' })), requests };
}

async function seenIn(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers, socket } = request;
  const body = Buffer.concat(chunks).toString();
  const { authorization, cookie } = headers;
  return { method, path, body, authorization, cookie, port: socket.remotePort };
}

function fieldsOf(authorization = ''): ReadonlyMap<string, string> {
  const pairs = authorization.matchAll(/(\S+?)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g);
  return new Map(
    [...pairs].map(([, name = '', text, bare = '']) => [name, text?.replaceAll('\\', '') ?? bare]),
  );
}

function isResponse(
  fields: ReadonlyMap<string, string>,
  { method, path, body }: SeenRequest,
  { username, password }: DigestTargetOptions,
): boolean {
  const of = (name: string) => fields.get(name) ?? '';
  const written = of('algorithm') || 'MD5';
  const hash = hashes[written.replace('-sess', '')];
  if (hash === undefined || of('uri') !== path) return false;
  const hashed = (...parts: string[]) => createHash(hash).update(parts.join(':')).digest('hex');
  const secret = hashed(username, of('realm'), password);
  const first = written.endsWith('-sess') ? hashed(secret, of('nonce'), of('cnonce')) : secret;
  const second = of('qop') === 'auth-int' ? hashed(method, path, hashed(body)) : hashed(method, path);
  const middle = of('qop') === '' ? [] : [of('nc'), of('cnonce'), of('qop')];
  const name = of('userhash') === 'true' ? hashed(username, of('realm')) : username;
  return of('username') === name && of('response') === hashed(first, of('nonce'), ...middle, second);
}
