import type { Socket } from 'node:net';
import { startTls, startTlsBy } from '../connection/start-tls.ts';
import type { Upgrade } from '../connection/target.ts';
import { type MysqlGreeting, requestTls } from '../preamble/mysql.ts';
import { greeted } from './mysql/greeted.ts';
import { MysqlSession, wantedCapabilities } from './mysql/session.ts';
import { PostgresSession } from './postgres.ts';
import type { SqlQuery, SqlSession } from './session.ts';

/** Protocols of database servers. */
export type SqlEngine = 'POSTGRESQL' | 'MYSQL';

/** How one session is held: a request for TLS, if the check wants that, and everything after it. */
export interface SqlProtocol {
  readonly upgrade: Upgrade;
  open(socket: Socket): SqlSession;
}

/** Returns the protocol for a session. @param hostname of the server in TLS. */
export function sqlProtocol(engine: SqlEngine, hostname: string, query: SqlQuery): SqlProtocol {
  if (engine === 'POSTGRESQL') {
    return {
      upgrade: startTls('postgres', hostname),
      open: (socket) => new PostgresSession(socket, query),
    };
  }
  let greeting: MysqlGreeting | undefined;
  const keep = (found: MysqlGreeting) => {
    greeting = found;
  };
  return {
    upgrade: startTlsBy('mysql', () =>
      greeted(keep, (found) => requestTls(found, wantedCapabilities(query))),
    ),
    open: (socket) => new MysqlSession(socket, query, greeting),
  };
}
