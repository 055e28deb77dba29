import { hostAndPort } from '../address.ts';
import { holdPreamble } from '../preamble/exchange.ts';
import { Malformed, Refusal } from '../preamble/preamble.ts';
import { ProbeError } from './errors.ts';
import type { Tunnel } from './forward-proxy.ts';
import { httpTunnel } from './http-tunnel.ts';
import { socksTunnel } from './socks-tunnel.ts';
import type { Upgrade } from './target.ts';

/** Requests a tunnel to a target over a connection to a proxy; afterwards the connection reaches the target. */
export function openTunnel(tunnel: Tunnel): Upgrade {
  const { proxy, hostname, port, isSecure } = tunnel;
  const about = `proxy ${hostAndPort(proxy.hostname, proxy.port)}, connecting to ${hostAndPort(hostname, port)}`;
  const asProbeError = (thrown: Error) =>
    thrown instanceof Refusal || thrown instanceof Malformed
      ? new ProbeError('proxy-failed', 'proxy', `${about}: ${thrown.message}`)
      : thrown;
  const preamble = proxy.protocol === 'socks5' ? socksTunnel(tunnel) : httpTunnel(tunnel);
  return (socket, exchange) =>
    holdPreamble(preamble, {
      socket,
      next: isSecure ? 'TLS' : 'data',
      send: exchange.send,
      done: (thrown) => exchange.done(thrown === null ? null : asProbeError(thrown)),
    });
}
