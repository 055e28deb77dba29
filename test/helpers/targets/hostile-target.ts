import { createServer, type Socket } from 'node:net';
import { createGzip } from 'node:zlib';
import { listen, type Target } from './listening.ts';

const head = (...lines: string[]) => `${['HTTP/1.1 200 OK', ...lines].join('\r\n')}\r\n\r\n`;
const chunked = head('Content-Type: text/plain', 'Transfer-Encoding: chunked');

/** Writes repeatedly, as fast as the peer reads, until the connection ends. */
function flood(socket: Socket, next: () => string | Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(next()));
  };
  socket.on('drain', write);
  write();
}

function every(socket: Socket, intervalMs: number, action: () => void): void {
  const timer = setInterval(action, intervalMs);
  socket.on('close', () => clearInterval(timer));
}

/** Misbehaviour of hostile servers once the request has begun to arrive. Each continues until the client gives up. */
export const hostileBehaviours = {
  'never-answers': () => undefined,
  'one-byte-per-interval': (socket) => {
    const answer = head('Content-Length: 2');
    let position = 0;
    every(socket, 50, () => {
      socket.write(answer[position % answer.length] ?? '');
      position += 1;
    });
  },
  'endless-headers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    let count = 0;
    flood(socket, () => `X-Header-${count++}: ${'v'.repeat(500)}\r\n`);
  },
  'endless-header-line': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX-Long: ');
    flood(socket, () => 'v'.repeat(16_384));
  },
  'endless-informational': (socket) => {
    every(socket, 5, () => socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'));
  },
  'endless-chunks': (socket) => {
    socket.write(chunked);
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    flood(socket, () => chunk);
  },
  /** Six bytes on the wire for each byte of body. */
  'endless-tiny-chunks': (socket) => {
    socket.write(chunked);
    const chunks = '1\r\nx\r\n'.repeat(10_000);
    flood(socket, () => chunks);
  },
  'endless-chunk-extension': (socket) => {
    socket.write(`${chunked}5;`);
    flood(socket, () => 'x'.repeat(16_384));
  },
  'endless-chunk-extensions': (socket) => {
    socket.write(chunked);
    const chunks = `1;${'x'.repeat(4000)}\r\ny\r\n`.repeat(10);
    flood(socket, () => chunks);
  },
  'endless-trailers': (socket) => {
    socket.write(`${chunked}5\r\nhello\r\n0\r\n`);
    flood(socket, () => 'X-Trailer: x\r\n'.repeat(1000));
  },
  'endless-status-line': (socket) => {
    socket.write('HTTP/1.1 200 O');
    flood(socket, () => 'K'.repeat(16_384));
  },
  'endless-blank-lines': (socket) => {
    flood(socket, () => '\r\n'.repeat(8192));
  },
  'informational-flood': (socket) => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(500);
    flood(socket, () => hints);
  },
  /** Gzip that never yields data: empty blocks. */
  'gzip-of-nothing': (socket) => {
    socket.write(head('Content-Type: text/plain', 'Content-Encoding: gzip'));
    socket.write(Buffer.from('1f8b0800000000000003', 'hex'));
    const blocks = Buffer.alloc(50_000, Buffer.from('000000ffff', 'hex'));
    flood(socket, () => blocks);
  },
  'trickling-chunks': (socket) => {
    socket.write(chunked);
    every(socket, 20, () => socket.write('1\r\nx\r\n'));
  },
  'huge-body': (socket) => {
    socket.write(head('Content-Type: text/plain', 'Content-Length: 10737418240'));
    const chunk = Buffer.alloc(65_536, 'x');
    flood(socket, () => chunk);
  },
  /** Endless compressed zeros: a thousand bytes of body for every byte on the wire. */
  'gzip-bomb': (socket) => {
    socket.write(head('Content-Type: text/plain', 'Content-Encoding: gzip'));
    const gzip = createGzip({ level: 9 });
    const zeros = Buffer.alloc(1_048_576);
    gzip.pipe(socket);
    const write = () => {
      while (!socket.destroyed && gzip.write(zeros));
    };
    gzip.on('drain', write);
    socket.on('close', () => gzip.destroy());
    write();
  },
  'not-gzip': (socket) => {
    socket.end(`${head('Content-Encoding: gzip', 'Content-Length: 9')}not gzip!`);
  },
  'cut-gzip': (socket) => {
    const bytes = Buffer.from('1f8b08000000000000034b4c4a06', 'hex');
    socket.write(head('Content-Encoding: gzip', `Content-Length: ${bytes.length}`));
    socket.end(bytes);
  },
  'reset-after-request': (socket) => {
    socket.resetAndDestroy();
  },
  'close-before-headers': (socket) => {
    socket.end();
  },
  'close-inside-headers': (socket) => {
    socket.end('HTTP/1.1 200 OK\r\nContent-');
  },
  'close-inside-body': (socket) => {
    socket.end(`${head('Content-Length: 100')}only this`);
  },
  'reset-inside-body': (socket) => {
    socket.write(`${head('Content-Length: 100')}only this`, () =>
      setTimeout(() => socket.resetAndDestroy(), 20),
    );
  },
  garbage: (socket) => {
    socket.end('\x00\x01\x02 this is no HTTP at all \r\n\r\n');
  },
  'http-0.9': (socket) => {
    socket.end('<html>hello from 1991</html>');
  },
  'conflicting-content-length': (socket) => {
    socket.end(`${head('Content-Length: 2', 'Content-Length: 5')}hello`);
  },
  'content-length-and-chunked': (socket) => {
    socket.end(`${head('Content-Length: 2', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`);
  },
  'content-lengths-in-one-line': (socket) => {
    socket.end(`${head('Content-Length: 5, 2')}hello`);
  },
  'negative-content-length': (socket) => {
    socket.end(`${head('Content-Length: -5')}hello`);
  },
  'chunked-not-last': (socket) => {
    socket.end(`${head('Transfer-Encoding: chunked, identity')}5\r\nhello\r\n0\r\n\r\n`);
  },
  'space-before-colon': (socket) => {
    socket.end(`${head('Transfer-Encoding : chunked', 'Content-Length: 2')}5\r\nhello\r\n0\r\n\r\n`);
  },
  'line-feeds-alone': (socket) => {
    socket.end('HTTP/1.1 200 OK\nContent-Length: 5\n\nhello');
  },
  'carriage-return-in-header': (socket) => {
    socket.end(`${head('X-Split: a\rContent-Length: 2', 'Content-Length: 5')}hello`);
  },
  'second-response': (socket) => {
    socket.end(`${head('Content-Length: 5')}hello${head('Content-Length: 5')}other`);
  },
  'malformed-chunk-size': (socket) => {
    socket.end(`${chunked}zz\r\nhello\r\n`);
  },
  'nul-in-header': (socket) => {
    socket.end(`${head('X-Nul: a\x00b', 'Content-Length: 0')}`);
  },
  'folded-header': (socket) => {
    socket.end(`${head('X-Folded: a\r\n b', 'Content-Length: 2')}ok`);
  },
  'unasked-upgrade': (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
  },
  'status-out-of-range': (socket) => {
    socket.end('HTTP/1.1 9999 What\r\nContent-Length: 0\r\n\r\n');
  },
  'http-1.0': (socket) => {
    socket.end('HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold but fine');
  },
} as const satisfies Readonly<Record<string, (socket: Socket) => void>>;
export type HostileBehaviour = keyof typeof hostileBehaviours;

/** Starts a server that treats every connection with that behaviour. */
export async function startHostileTarget(behaviour: HostileBehaviour): Promise<Target> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      socket.resume();
      hostileBehaviours[behaviour](socket);
    });
  });
  return listen(server, { scheme: 'http' });
}

/** Starts a server that accepts connections and never sends anything. */
export async function startSilentTarget(): Promise<Target> {
  return listen(
    createServer((socket) => socket.resume()),
    { scheme: 'http' },
  );
}
