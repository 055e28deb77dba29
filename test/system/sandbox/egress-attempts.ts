/**
 * Attempts to reach a closed address. Each is the body of an asynchronous function; its result or error is only
 * printed.
 */
export interface Attempt {
  readonly name: string;
  readonly code: string;
}

/** Shared code of the Node attempts; `T` is the closed address, `P` its port, `A` an open one with the port `Q`. */
export const nodeTools = `
const net = require('node:net'), dgram = require('node:dgram'), http = require('node:http'), cp = require('node:child_process');
const dial = (host, port, more) => new Promise((done, fail) => {
  const socket = net.connect({ host, port, ...more }, () => { socket.write('GET / HTTP/1.0\\r\\n\\r\\n'); });
  socket.on('data', (data) => { socket.destroy(); done(String(data)); }).on('error', fail).on('end', () => done('closed'));
});
const tell = (type, port, host, isConnected) => new Promise((done) => {
  const socket = dgram.createSocket(type);
  socket.on('error', (error) => done(error.code)).on('message', (data) => { socket.close(); done(String(data)); });
  const sent = (error) => { if (error) done(error.code); };
  if (isConnected) socket.connect(port, host, () => socket.send('x', sent)); else socket.send('x', port, host, sent);
});
const run = (command) => { try { return String(cp.execSync(command, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 2000, shell: '/bin/bash' })); } catch (error) { return String(error.stderr ?? error).slice(0, 80); } };
`;

const perl = (code: string) => `run(\`perl -MSocket -e '${code}'\`)`;
const perlTarget = 'my $a = sockaddr_in(${P}, inet_aton("${T}"));';

export const nodeAttempts: readonly Attempt[] = [
  { name: 'a socket', code: 'return dial(T, P);' },
  ...['2131298569', '0x7f090909', '127.591113', '127.9.2313', '0177.011.011.011', '0x7f.9.0x909'].map(
    (host) => ({
      name: `a socket to ${host}`,
      code: `return dial('${host}', P);`,
    }),
  ),
  ...[
    '::ffff:127.9.9.9',
    '::ffff:7f09:909',
    '0:0:0:0:0:ffff:7f09:0909',
    '::127.9.9.9',
    '64:ff9b::7f09:909',
  ].map((host) => ({ name: `a socket to ${host}`, code: `return dial('${host}', P, { family: 6 });` })),
  { name: 'fetch', code: 'return (await fetch(`http://${T}:${P}/`)).text();' },
  { name: 'fetch of a number', code: 'return (await fetch(`http://0x7f090909:${P}/`)).text();' },
  { name: 'a redirect', code: 'return (await fetch(`http://${A}:${Q}/redirect`)).text();' },
  {
    name: 'a name that leads elsewhere the second time',
    code: `let count = 0; const lookup = (_name, options, done) => { const address = count++ === 0 ? A : T; options.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4); };
      await dial('rebind.test', Q, { lookup }); return dial('rebind.test', P, { lookup });`,
  },
  {
    name: 'several addresses of a name at once',
    code: `return dial('two.test', P, { lookup: (_name, options, done) => done(null, [{ address: T, family: 4 }, { address: '::ffff:' + T, family: 6 }]), autoSelectFamily: true });`,
  },
  {
    name: 'a WebSocket',
    code: 'return new Promise((done) => { const socket = new WebSocket(`ws://${T}:${P}/`); socket.onerror = () => done("error"); socket.onopen = () => done("open"); });',
  },
  { name: 'a datagram', code: "return tell('udp4', P, T, false);" },
  { name: 'a connected datagram', code: "return tell('udp4', P, T, true);" },
  { name: 'a datagram of IPv6', code: "return tell('udp6', P, '::ffff:' + T, false);" },
  {
    name: 'a datagram after an open one, of the same socket',
    code: `return new Promise((done) => { const socket = dgram.createSocket('udp4'); socket.on('error', (error) => done(error.code));
      socket.on('message', () => socket.send('x', P, T)); socket.send('x', Q, A); });`,
  },
  {
    name: 'the source port of an open connection',
    code: `const first = net.connect({ host: A, port: Q }); await new Promise((done) => first.once('connect', done));
      const localPort = first.localPort; first.resetAndDestroy(); return dial(T, P, { localPort });`,
  },
  {
    name: 'a proxy of its own',
    code: `const proxy = http.createServer().on('connect', (_request, client) => { const up = net.connect(P, T, () => { client.write('HTTP/1.1 200 OK\\r\\n\\r\\n'); client.pipe(up).pipe(client); }); up.on('error', () => client.destroy()); });
      await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
      return new Promise((done) => http.request({ port: proxy.address().port, host: '127.0.0.1', method: 'CONNECT', path: T + ':' + P }).on('connect', (_answer, socket) => { socket.write('GET / HTTP/1.0\\r\\n\\r\\n'); socket.on('data', (data) => done(String(data))); }).on('error', (error) => done(error.code)).end());`,
  },
  { name: 'curl', code: 'return run(`curl -sS -m 2 http://${T}:${P}/`);' },
  {
    name: 'curl by --connect-to',
    code: 'return run(`curl -sS -m 2 --connect-to ::${T}:${P} http://${A}:${Q}/`);',
  },
  {
    name: 'curl with an address for a name',
    code: 'return run(`curl -sS -m 2 --resolve a.test:${P}:${T} http://a.test:${P}/`);',
  },
  { name: 'DNS over HTTPS', code: 'return run(`curl -sS -m 2 --doh-url http://${T}:${P}/ http://a.test/`);' },
  { name: 'the shell', code: 'return run(`exec 3<>/dev/tcp/${T}/${P}; echo x >&3; head -c 3 <&3`);' },
  {
    name: 'another network namespace',
    code: 'return run(`unshare -Urn sh -c "ip link set lo up; curl -sS -m 1 http://${T}:${P}/"`);',
  },
  {
    name: "the first process's network",
    code: 'return run(`nsenter --net=/proc/1/ns/net curl -sS -m 1 http://${T}:${P}/`);',
  },
  {
    name: 'rules taken away',
    code: 'return run(`iptables -t mangle -F; iptables -F; ip route add ${T} dev lo; curl -sS -m 1 http://${T}:${P}/`);',
  },
  {
    name: 'rules taken away by root of a user namespace',
    code: 'return run(`unshare -Ur sh -c "iptables -t mangle -F; iptables -F; curl -sS -m 1 http://${T}:${P}/"`);',
  },
  {
    name: 'a raw socket',
    code: `return ${perl('socket(S, AF_INET, SOCK_RAW, 6) or die $!; send(S, "x", 0, sockaddr_in(0, inet_aton("${T}")))')};`,
  },
  {
    name: 'a packet socket',
    code: `return ${perl('socket(S, 17, SOCK_RAW, 768) or die $!; print "opened"')};`,
  },
  {
    name: 'a mark',
    code: `return ${perl(`socket(S, AF_INET, SOCK_STREAM, 6); setsockopt(S, 1, 36, pack("i", 2)) or die $!; ${perlTarget} connect(S, $a) or die $!; syswrite(S, "x")`)};`,
  },
  {
    name: 'data in the first packet',
    code: `return ${perl(`socket(S, AF_INET, SOCK_STREAM, 6); ${perlTarget} send(S, "GET / HTTP/1.0\\\\r\\\\n\\\\r\\\\n", 0x20000000, $a) or die $!;`)};`,
  },
  {
    name: 'MPTCP',
    code: `return ${perl(`socket(S, AF_INET, SOCK_STREAM, 262) or die $!; ${perlTarget} connect(S, $a) or die $!; syswrite(S, "x")`)};`,
  },
  {
    name: 'UDP-Lite',
    code: `return ${perl(`socket(S, AF_INET, SOCK_DGRAM, 136) or die $!; ${perlTarget} send(S, "x", 0, $a) or die $!;`)};`,
  },
  {
    name: 'SCTP',
    code: `return ${perl(`socket(S, AF_INET, SOCK_STREAM, 132) or die $!; ${perlTarget} connect(S, $a) or die $!;`)};`,
  },
  {
    name: 'an echo request',
    code: `return ${perl(`socket(S, AF_INET, SOCK_DGRAM, 1) or die $!; ${perlTarget} send(S, pack("CCnnn", 8, 0, 0, 1, 1), 0, $a) or die $!; print "sent"`)};`,
  },
  { name: 'TCP of IPv6 by perl', code: 'return run(`curl -sS -g -m 2 "http://[::ffff:${T}]:${P}/"`);' },
  {
    name: 'a source route',
    code: `return ${perl('socket(S, AF_INET, SOCK_STREAM, 6); setsockopt(S, 0, 4, pack("CCCa4C", 131, 7, 4, inet_aton("${T}"), 0)) or die $!; connect(S, sockaddr_in(${Q}, inet_aton("${A}"))) or die $!; print "open"')};`,
  },
];

/** The same from pages; `page` is one of an open origin. */
export const pageAttempts: readonly Attempt[] = [
  { name: 'goto', code: 'return page.goto(`http://${T}:${P}/`);' },
  { name: 'goto of a number', code: 'return page.goto(`http://0x7f090909:${P}/`);' },
  { name: 'goto of a mapped address', code: 'return page.goto(`http://[::ffff:7f09:909]:${P}/`);' },
  { name: 'a redirect', code: 'return page.goto(`http://${A}:${Q}/redirect`);' },
  ...[
    ['a frame', "document.body.append(Object.assign(document.createElement('iframe'), { src: U }))"],
    [
      'an image',
      'new Promise((done) => { const image = new Image(); image.onload = image.onerror = done; image.src = U; })',
    ],
    ['a script', "document.head.append(Object.assign(document.createElement('script'), { src: U }))"],
    ['fetch', "fetch(U, { mode: 'no-cors' })"],
    ['a beacon', 'navigator.sendBeacon(U)'],
    ['EventSource', 'new Promise((done) => { new EventSource(U).onerror = done; })'],
    [
      'a WebSocket',
      "new Promise((done) => { const socket = new WebSocket(U.replace('http', 'ws')); socket.onopen = socket.onerror = done; })",
    ],
    [
      'a preconnect',
      "document.head.append(Object.assign(document.createElement('link'), { rel: 'preconnect', href: U }))",
    ],
    [
      'a worker',
      'new Promise((done) => { const worker = new Worker(URL.createObjectURL(new Blob([\'fetch("\' + U + \'", { mode: "no-cors" }).finally(() => postMessage(1))\']))); worker.onmessage = done; })',
    ],
    [
      'WebRTC by STUN',
      "(async () => { const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:' + H }] }); peer.createDataChannel('x'); await peer.setLocalDescription(await peer.createOffer()); await new Promise((done) => setTimeout(done, 700)); })()",
    ],
    [
      'WebRTC by TURN over TCP',
      "(async () => { const peer = new RTCPeerConnection({ iceTransportPolicy: 'relay', iceServers: [{ urls: 'turn:' + H + '?transport=tcp', username: 'a', credential: 'b' }] }); peer.createDataChannel('x'); await peer.setLocalDescription(await peer.createOffer()); await new Promise((done) => setTimeout(done, 700)); })()",
    ],
    [
      'WebRTC to a peer',
      "(async () => { const peer = new RTCPeerConnection(); peer.createDataChannel('x'); const offer = await peer.createOffer(); await peer.setLocalDescription(offer); await peer.setRemoteDescription({ type: 'answer', sdp: offer.sdp.replace('actpass', 'active') }); await peer.addIceCandidate({ candidate: 'candidate:1 1 udp 2122260223 ' + H.replace(':', ' ') + ' typ host', sdpMid: '0' }); await new Promise((done) => setTimeout(done, 700)); })()",
    ],
  ].map(([name = '', code = '']) => ({
    name,
    code: `return page.evaluate(([U, H]) => Promise.race([${code}, new Promise((done) => setTimeout(done, 1500))]).then(String, String), [\`http://\${T}:\${P}/\`, \`\${T}:\${P}\`]);`,
  })),
  { name: 'the request of Playwright', code: 'return page.request.get(`http://${T}:${P}/`);' },
  {
    name: 'a proxy of the browser',
    code: "return again({ args: ['--proxy-server=' + T + ':' + P, '--proxy-bypass-list=<-loopback>'] });",
  },
  {
    name: 'a rule for names of the browser',
    code: "return again({ args: ['--host-resolver-rules=MAP * ' + T + ':' + P] });",
  },
  {
    name: 'DNS over HTTPS of the browser',
    code: "return again({ args: ['--enable-features=DnsOverHttps<x', '--force-fieldtrials=x/y', '--force-fieldtrial-params=x.y:server/http%3A%2F%2F' + T + '%3A' + P] });",
  },
];
