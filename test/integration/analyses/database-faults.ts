import { evidenceOf, realRun, type SeededFault } from '../../helpers/analyses/real-runs.ts';
import { startMysqlTarget } from '../../helpers/mysql/mysql-target.ts';
import { startPostgresTarget } from '../../helpers/targets/postgres-target.ts';

const login = { hostname: '127.0.0.1', username: 'ada', password: 'right', useSSL: false };

/** A run at a server of MySQL that answers the login or the query with an error. */
async function atMysql(errorCode: number, sqlState: string, message: string, isGreeting = false) {
  const head = Buffer.from([0xff, errorCode & 0xff, errorCode >> 8]);
  const greeting = Buffer.concat([head, Buffer.from(message)]);
  await using target = await startMysqlTarget({
    ...(isGreeting && { greeting }),
    answer: () => ({ errorCode, sqlState, message }),
  });
  const request = { ...login, engine: 'MYSQL', port: target.port };
  return evidenceOf(await realRun('SQL', { request }));
}

async function atPostgres(sqlState: string, message: string) {
  await using target = await startPostgresTarget(() => ({ sqlState, message }));
  return evidenceOf(await realRun('SQL', { request: { ...login, port: target.port } }));
}

async function withWrongPassword() {
  await using target = await startMysqlTarget();
  const request = { ...login, engine: 'MYSQL', port: target.port, password: 'wrong' };
  return evidenceOf(await realRun('SQL', { request }));
}

const fault = (
  name: string,
  evidence: SeededFault['evidence'],
  found: Pick<SeededFault, 'cause' | 'classification' | 'certainty'>,
): SeededFault => ({ name, code: 'REQUEST_REFUSED', evidence, ...found });
const isSetting = { classification: 'CONFIGURATION_ERROR', certainty: 'CERTAIN' } as const;
const isServer = { classification: 'APPLICATION_ERROR', certainty: 'CERTAIN' } as const;

/** Refusals of databases; agents before 8.0 have none. */
export const databaseFaults: readonly SeededFault[] = [
  fault('a wrong password of a database', withWrongPassword, { cause: /Access denied/, ...isSetting }),
  fault('a host that MySQL does not let in', () => atMysql(1130, 'HY000', 'Host is not allowed', true), {
    ...{ cause: /Host is not allowed/, ...isSetting },
  }),
  fault('a database without free connections', () => atMysql(1040, '08004', 'Too many connections', true), {
    ...{ cause: /Too many connections/, ...isServer },
  }),
  fault('a database that starts', () => atPostgres('57P03', 'the database system is starting up'), {
    ...{ cause: /is starting up/, ...isServer },
  }),
  fault(
    'a query that takes too long',
    () => atMysql(3024, 'HY000', 'maximum statement execution time exceeded'),
    {
      ...{ cause: /execution time/, classification: 'PERFORMANCE_ERROR', certainty: 'LIKELY' },
    },
  ),
  fault('a query that is wrong', () => atPostgres('42P01', 'relation "orders" does not exist'), {
    ...{ cause: /does not exist/, classification: 'APPLICATION_ERROR', certainty: 'LIKELY' },
  }),
];
