/**
 * The targets of the smoke test, in a container of their own: a web site on 8000 and a name server on 5300. `/hold`
 * responds late, and `/holding` returns how often it was requested.
 */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { decode, encode } from 'dns-packet';

const holdMs = 8000;
let holdCount = 0;

createServer((request, response) => {
  const answer = (type: string, body: string) => {
    response.writeHead(200, { 'content-type': type }).end(body);
  };
  if (request.url === '/json') answer('application/json', '{"ok": true}');
  else if (request.url === '/holding') answer('application/json', JSON.stringify({ holdCount }));
  else if (request.url === '/hold') {
    holdCount += 1;
    setTimeout(() => answer('text/html', '<title>held</title><h1>At last</h1>'), holdMs);
  } else answer('text/html', '<title>smoke</title><h1>Hello</h1>');
}).listen(8000);

const names = createSocket('udp4');
names.on('message', (message, from) => {
  const { id, questions = [] } = decode(message);
  const answers = questions.map(({ name }) => ({ type: 'A' as const, name, ttl: 60, data: '192.0.2.1' }));
  names.send(encode({ type: 'response', id, questions, answers }), from.port, from.address);
});
names.bind(5300);

process.on('SIGTERM', () => process.exit(0));
