import { createServer, type Socket } from 'node:net';
import { listen, type Target } from './listening.ts';

/** Answer of a test server to a query: rows of one column, an error, or bytes of its own. */
export type PostgresAnswer =
  | { readonly rows: readonly (string | null)[]; readonly typeId?: number; readonly column?: string }
  | { readonly sqlState: string; readonly message: string }
  | { readonly bytes: Buffer }
  | 'silence'
  | 'hang-up';

export interface PostgresTarget extends Target {
  /** Statements in the order of their arrival. */
  readonly statements: readonly string[];
  /** Parameters of each startup message, and the password of each login. */
  readonly logins: readonly Readonly<Record<string, string>>[];
}

const sslRequest = 80877103;
const text = (value: string) => Buffer.from(`${value}\0`);
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const int16 = (value: number) => int32(value).subarray(2);
const message = (type: string, ...parts: readonly Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};
const ready = message('Z', Buffer.from('I'));
const errorMessage = (sqlState: string, words: string) =>
  message('E', text('SERROR'), text(`C${sqlState}`), text(`M${words}`), Buffer.from([0]));

function rowMessages({
  rows,
  typeId = 23,
  column = 'value',
}: Extract<PostgresAnswer, { rows: unknown }>): Buffer {
  const description = [text(column), int32(0), int16(0), int32(typeId), int16(-1), int32(-1), int16(0)];
  return Buffer.concat([
    message('T', int16(1), ...description),
    ...rows.map((value) =>
      message(
        'D',
        int16(1),
        ...(value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), Buffer.from(value)]),
      ),
    ),
    message('C', text(`SELECT ${rows.length}`)),
  ]);
}

/** Starts a server that speaks as much of the protocol of PostgreSQL as a login with a password and a query need. */
export async function startPostgresTarget(
  answer: (statement: string) => PostgresAnswer,
  password = 'right',
): Promise<PostgresTarget> {
  const statements: string[] = [];
  const logins: Record<string, string>[] = [];
  const server = createServer((socket) => serve(socket));
  const serve = (socket: Socket) => {
    let buffered: Buffer = Buffer.alloc(0);
    let hasStarted = false;
    let statement = '';
    const reply = (found: PostgresAnswer) => {
      if (found === 'silence') return;
      if (found === 'hang-up') socket.destroy();
      else if ('bytes' in found) socket.write(found.bytes);
      else if ('sqlState' in found)
        socket.write(Buffer.concat([errorMessage(found.sqlState, found.message), ready]));
      else socket.write(Buffer.concat([message('1'), message('2'), rowMessages(found), ready]));
    };
    const onMessage = (type: string, body: Buffer) => {
      if (type === 'p') {
        const given = body.toString('utf8', 0, body.length - 1);
        Object.assign(logins.at(-1) ?? {}, { password: given });
        if (given === password) socket.write(Buffer.concat([message('R', int32(0)), ready]));
        else socket.end(errorMessage('28P01', 'password authentication failed'));
      } else if (type === 'Q') {
        const whole = body.toString('utf8', 0, body.length - 1);
        statements.push(whole);
        const version = rowMessages({ rows: ['17.2'], typeId: 25, column: 'server_version' });
        const parts = whole
          .split('; ')
          .map((one) => (one.startsWith('SHOW') ? version : message('C', text(one))));
        socket.write(Buffer.concat([...parts, ready]));
      } else if (type === 'P') {
        statement = body.toString('utf8', 1, body.indexOf(0, 1));
        statements.push(statement);
      } else if (type === 'S') reply(answer(statement));
      else if (type === 'X') socket.end();
    };
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (;;) {
        const headBytes = hasStarted ? 1 : 0;
        if (buffered.length < headBytes + 4) return;
        const sizeBytes = headBytes + buffered.readInt32BE(headBytes);
        if (buffered.length < sizeBytes) return;
        const body = buffered.subarray(headBytes + 4, sizeBytes);
        const type = buffered.toString('latin1', 0, headBytes);
        buffered = buffered.subarray(sizeBytes);
        if (hasStarted) onMessage(type, body);
        else if (body.readInt32BE(0) === sslRequest) socket.write('N');
        else {
          hasStarted = true;
          const words = body.toString('utf8', 4).split('\0');
          logins.push(
            Object.fromEntries(
              words.flatMap((word, index) =>
                index % 2 === 0 && word !== '' ? [[word, words[index + 1] ?? '']] : [],
              ),
            ),
          );
          socket.write(message('R', int32(3)));
        }
      }
    });
  };
  const target = await listen(server, { scheme: 'postgres' });
  return { ...target, statements, logins };
}
