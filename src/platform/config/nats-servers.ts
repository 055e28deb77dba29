/** Parsed value of NATS_URL. */
export interface NatsServers {
  /** Such as `nats:4222`, without scheme and user. */
  readonly hosts: readonly string[];
  readonly hasTls: boolean;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** Reason why the value is unusable, without secrets. */
  readonly problem?: string;
}

const defaultPort = '4222';

/** Parses a comma-separated list of servers: `nats://user:password@a:4222,nats://b`. */
export function natsServers(text: string): NatsServers {
  const unusable = (problem: string): NatsServers => ({ hosts: [], hasTls: false, problem });
  const urls: URL[] = [];
  for (const entry of text.split(',')) {
    const url = URL.parse(entry.trim());
    if (!url || !/^(nats|tls):$/.test(url.protocol) || url.hostname === '') {
      return unusable('must be nats://host:port or tls://host:port, or several of them separated by commas');
    }
    if (/[^/]/.test(url.pathname + url.search + url.hash)) return unusable('must have no path or query');
    urls.push(url);
  }
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1)
    return unusable('must not mix nats:// and tls://');
  const users = new Set(
    urls.map(({ username, password }) => `${username}:${password}`).filter((user) => user !== ':'),
  );
  if (users.size > 1) return unusable('must name one user, or token, for all servers');
  const [named] = urls.filter(({ username, password }) => `${username}${password}` !== '');
  const [user = '', password = ''] = [named?.username, named?.password].map((part) => decoded(part ?? ''));
  return {
    hosts: urls.map(({ hostname, port }) => `${hostname}:${port || defaultPort}`),
    hasTls: urls[0]?.protocol === 'tls:',
    ...(password !== '' ? { user, password } : user !== '' ? { token: user } : {}),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign without a valid code is literal.
    return text;
  }
}

/** Whether a text has the parts of a `.creds` file. */
export function isCredentials(text: string): boolean {
  return /^-+BEGIN NATS USER JWT-+$/m.test(text) && /^-+BEGIN USER NKEY SEED-+$/m.test(text);
}
