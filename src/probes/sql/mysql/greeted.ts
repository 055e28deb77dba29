import { GreetedWithError, type MysqlGreeting, mysqlGreeting } from '../../preamble/mysql.ts';
import type { Preamble } from '../../preamble/preamble.ts';
import { SqlRefusal } from '../session.ts';

/**
 * Reads the greeting of a server, with or without TLS after it. An error in its place, such as "Too many connections",
 * is an answer to the login.
 *
 * @param next what follows, such as the request for TLS.
 * @throws SqlRefusal, Malformed
 */
export function* greeted(
  onGreeting: (greeting: MysqlGreeting) => void,
  next?: (greeting: MysqlGreeting) => Preamble,
): Preamble {
  try {
    const greeting = yield* mysqlGreeting();
    onGreeting(greeting);
    if (next) yield* next(greeting);
  } catch (thrown) {
    if (!(thrown instanceof GreetedWithError)) throw thrown;
    const { message, sqlState, errorCode } = thrown.error;
    throw new SqlRefusal(message, sqlState, errorCode);
  }
}
