'use strict';
/**
 * The ports of a suite's web servers belong to the run: only its own servers may respond there. If runs have a network
 * of their own, the agent reads the ports from a file and blocks the host's servers. If they share the loopback of
 * their host, a foreign listener on such a port ends the run with an error that explains it.
 */
const fs = require('node:fs');

const listening = '0A';

/**
 * Protects the web servers of a configuration from foreign ones.
 *
 * @param webServer of the suite: one, several, or undefined.
 * @param settings ownPortsPath: file for the ports; null if the run uses the host's network.
 * @throws Error if a foreign program uses a port.
 */
function withOwnPorts(webServer, { ownPortsPath }) {
  const ports = [webServer ?? []].flat().flatMap((server) => portOf(server) ?? []);
  if (ports.length === 0) return webServer;
  if (ownPortsPath !== null) {
    write(ports, ownPortsPath);
    return webServer;
  }
  const adapt = (server) => {
    const port = portOf(server);
    if (port === undefined || refuseStranger(port)) return server;
    // Nothing listens yet: a server that Playwright then finds is a foreign one.
    return { ...server, reuseExistingServer: false };
  };
  return Array.isArray(webServer) ? webServer.map(adapt) : adapt(webServer);
}

function portOf(server) {
  if (server?.port) return Number(server.port);
  if (typeof server?.url !== 'string' || !URL.canParse(server.url)) return undefined;
  const { port, protocol } = new URL(server.url);
  return port === '' ? { 'http:': 80, 'https:': 443 }[protocol] : Number(port);
}

/** A command may run Playwright several times, and each of its processes loads the configuration. */
function write(ports, file) {
  const known = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split(/\s+/) : [];
  const fresh = ports.map(String).filter((port) => !known.includes(port));
  if (fresh.length > 0) fs.appendFileSync(file, `${fresh.join('\n')}\n`);
}

/** @returns whether a server of this run listens there. @throws Error if a foreign one does. */
function refuseStranger(port) {
  const sockets = listeners(port);
  if (sockets.size === 0) return false;
  for (const socket of socketsOfRun()) sockets.delete(socket);
  if (sockets.size === 0) return true;
  throw new Error(
    `port ${port} of webServer is in use by another program on the host of the agent, which the tests would reach instead of their own server: free it or choose another port (runs of this agent have no network of their own)`,
  );
}

/** Inode numbers of the sockets that listen on a port of this host. */
function listeners(port) {
  const found = new Set();
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    if (!fs.existsSync(file)) continue; // no IPv6 on this host
    for (const line of fs.readFileSync(file, 'utf8').split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === listening && local.endsWith(`:${wanted}`)) found.add(inode);
    }
  }
  return found;
}

/** Sockets held by processes of this run, which are identified by an inherited variable. */
function* socketsOfRun() {
  const mark = `PICKET_NOTES=${process.env.PICKET_NOTES}`;
  for (const pid of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (!fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark)) continue;
      for (const descriptor of fs.readdirSync(`/proc/${pid}/fd`)) {
        const socket = /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${pid}/fd/${descriptor}`));
        if (socket) yield socket[1];
      }
    } catch (error) {
      // It has ended, or belongs to another user and so not to this run.
      if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code)) throw error;
    }
  }
}

module.exports = { withOwnPorts };
