'use strict';
/**
 * The page's only route to the network: a proxy in the sandbox that connects to the given origins and to nothing else.
 * Redirects, frames, scripts of the page and its sockets all use it, so no part of the page reaches further than the
 * check allows.
 */
const http = require('node:http');
const net = require('node:net');

const maxRefused = 50;

/**
 * @param origins `http` or `https` origins.
 * @param upstream the location's proxy: server, and username and password if it requires them.
 */
async function startGuard(origins, upstream) {
  const allowed = new Set(origins.map(hostPort));
  const refused = new Set();
  const refuse = (what) => {
    if (refused.size < maxRefused) refused.add(what);
  };
  const next = upstream ? upstreamOf(upstream) : undefined;

  const server = http.createServer((request, response) => {
    const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
    if (url?.protocol !== 'http:' || !allowed.has(hostPort(url.origin))) {
      refuse(url?.origin ?? 'an invalid URL');
      response.writeHead(403, { 'content-type': 'text/plain', 'x-picket-refused': 'origin' });
      response.end('Blocked: the check does not allow this origin.');
      return;
    }
    const headers = { ...request.headers, ...next?.headers };
    delete headers['proxy-connection'];
    const target = next ?? { host: bare(url.hostname), port: url.port || 80 };
    const path = next ? url.href : `${url.pathname}${url.search}`;
    const onward = http.request(
      { host: target.host, port: target.port, method: request.method, path, headers, setHost: false },
      (answer) => {
        response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
        answer.pipe(response);
        answer.on('error', () => response.destroy());
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });

  server.on('connect', (request, socket, head) => {
    socket.on('error', () => undefined);
    if (!allowed.has(request.url.toLowerCase())) {
      refuse(`https://${request.url}`);
      socket.end('HTTP/1.1 403 Forbidden\r\nx-picket-refused: origin\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    const separator = request.url.lastIndexOf(':');
    const target = next ?? {
      host: bare(request.url.slice(0, separator)),
      port: Number(request.url.slice(separator + 1)),
    };
    const onward = net.connect({ host: target.host, port: target.port });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
    onward.on('connect', () => {
      if (next) {
        const lines = Object.entries(next.headers).map(([name, value]) => `${name}: ${value}\r\n`);
        onward.write(`CONNECT ${request.url} HTTP/1.1\r\nhost: ${request.url}\r\n${lines.join('')}\r\n`);
      } else socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) onward.write(head);
      socket.pipe(onward);
      onward.pipe(socket);
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());

  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    allows: (url) => URL.canParse(url) && origins.includes(new URL(url).origin),
    /** The refusals since the last call. */
    takeRefused: () => {
      const taken = [...refused];
      refused.clear();
      return taken;
    },
  };
}

function hostPort(origin) {
  const { protocol, hostname, port } = new URL(origin);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`.toLowerCase();
}

function upstreamOf({ server, username, password }) {
  const url = new URL(server);
  const credentials = Buffer.from(`${username}:${password ?? ''}`).toString('base64');
  return {
    host: bare(url.hostname),
    port: Number(url.port || 80),
    headers: username ? { 'proxy-authorization': `Basic ${credentials}` } : {},
  };
}

function bare(hostname) {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

module.exports = { startGuard };
