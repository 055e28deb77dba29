import { isIP } from 'node:net';
import { hostAndPort } from '../address.ts';
import { parseAddress } from '../egress/address.ts';
import { bytes, Malformed, type Preamble, Refusal } from '../preamble/preamble.ts';
import { ProbeError, type ProbeErrorKind } from './errors.ts';
import type { Tunnel } from './forward-proxy.ts';

const version = 5;
const connectCommand = 1;
const noLogin = 0;
const passwordLogin = 2;
const noneAcceptable = 0xff;
/** Address types, and the length in bytes of those with a fixed length. */
const kinds = { ipv4: 1, name: 3, ipv6: 4 } as const;
const addressLengths: Readonly<Record<number, number>> = { [kinds.ipv4]: 4, [kinds.ipv6]: 16 };
/** One byte holds the length of a name, a user or a password. */
const maxTextBytes = 255;

/** Reply codes of refusals (RFC 1928 section 6). Codes about the target are failures of the target. */
const refusals: Readonly<Record<number, readonly [ProbeErrorKind, string]>> = {
  1: ['host-unreachable', 'general failure'],
  2: ['proxy-failed', 'not allowed by its ruleset'],
  3: ['host-unreachable', 'network unreachable'],
  4: ['host-unreachable', 'host unreachable'],
  5: ['connection-refused', 'connection refused'],
  6: ['host-unreachable', 'TTL expired'],
  7: ['proxy-failed', 'command not supported'],
  8: ['proxy-failed', 'address type not supported'],
};

/**
 * Requests a connection to a target from a SOCKS5 proxy (RFC 1928, RFC 1929).
 *
 * @throws ProbeError if the proxy cannot connect; Refusal if it wants another login; Malformed if it is not SOCKS5
 */
export function* socksTunnel({ proxy, hostname, port, onPending }: Tunnel): Preamble {
  const { login } = proxy;
  const methods = login ? [noLogin, passwordLogin] : [noLogin];
  yield { kind: 'say', data: Buffer.from([version, methods.length, ...methods]) };
  const [answered, method] = yield* bytes(2);
  if (answered !== version) throw new Malformed('it does not respond with SOCKS5');
  if (method === passwordLogin && login) {
    yield { kind: 'say', data: Buffer.concat([Buffer.from([1]), text(login.user), text(login.password)]) };
    const [, status] = yield* bytes(2);
    if (status !== 0) throw new Refusal('it rejects the username or password');
  } else if (method === noneAcceptable) {
    throw new Refusal(
      login
        ? 'it accepts neither a password nor anonymous access'
        : 'it requires a username and password, or another authentication method',
    );
  } else if (method !== noLogin) {
    throw new Malformed(`it chose the authentication method ${method}, which was not offered`);
  }
  const portBytes = Buffer.from([port >> 8, port & 0xff]);
  const command = Buffer.from([version, connectCommand, 0]);
  onPending(true);
  yield { kind: 'say', data: Buffer.concat([command, address(hostname), portBytes]) };
  const [, reply = 0, , kind = 0] = yield* bytes(4);
  if (reply !== 0) {
    onPending(false);
    const [errorKind, words] = refusals[reply] ?? ['host-unreachable', 'an unknown reason'];
    const asked = `proxy ${hostAndPort(proxy.hostname, proxy.port)}, connecting to ${hostAndPort(hostname, port)}`;
    throw new ProbeError(errorKind, 'proxy', `${asked}: ${words} (reply ${reply})`);
  }
  // The proxy's source address: unused, but it must be read.
  const sizeBytes = kind === kinds.name ? (yield* bytes(1))[0] : addressLengths[kind];
  if (sizeBytes === undefined) throw new Malformed(`its reply has an unknown address type, ${kind}`);
  yield* bytes(sizeBytes + portBytes.length);
}

function address(hostname: string): Buffer {
  const written = isIP(hostname) === 0 ? undefined : parseAddress(hostname)?.toByteArray();
  if (!written) return Buffer.concat([Buffer.from([kinds.name]), text(hostname)]);
  return Buffer.from([written.length === 4 ? kinds.ipv4 : kinds.ipv6, ...written]);
}

function text(value: string): Buffer {
  const encoded = Buffer.from(value);
  if (encoded.length > maxTextBytes) {
    throw new Refusal(`a name, username or password has more than ${maxTextBytes} bytes`);
  }
  return Buffer.concat([Buffer.from([encoded.length]), encoded]);
}
