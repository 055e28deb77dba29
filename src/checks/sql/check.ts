import { asFast, sameAgain } from '../assertable/assertable.ts';
import { defineCheckType } from '../contract/check-type.ts';
import { assertionsForm, ipFamilyWords, limitsForm } from '../contract/definition/common-form.ts';
import { splitHost, withRequest } from '../contract/definition/shorthand.ts';
import { millisecondsAt } from '../contract/metric.ts';
import { assertionProblems } from '../judging/assertion-problems.ts';
import { diagnosisArtifactFields, exchangeFacts } from '../judging/diagnosis-facts.ts';
import { SqlDetail } from './detail.ts';
import { maskedInSql, SqlSpec } from './spec.ts';
import { summaryOf } from './summary.ts';

const phase = (name: string, label: string) =>
  millisecondsAt(name, label, ['response', 'timingPhases', name]);

/** Names of the type in files that mean the engine, too. */
const namesOfMysql = ['MYSQL', 'MARIADB'];

export const sql = defineCheckType({
  name: 'SQL',
  route: 'sql',
  title: 'SQL monitor',
  icon: 'database',
  purpose: 'Logs in at a database, runs a query, and checks the answer.',
  family: 'network',
  lane: 'probe',
  timeoutMs: 35_000,
  isSubMinuteAllowed: true,
  hasNetworkErrors: true,
  spec: SqlSpec,
  form: {
    'request.hostname': {
      label: 'Host',
      hint: 'Host name or IP address, without scheme and port.',
      isFirst: true,
      width: 'wide',
      names: 'text',
    },
    'request.engine': {
      label: 'Server',
      words: { POSTGRESQL: 'PostgreSQL', MYSQL: 'MySQL or MariaDB' },
      isFirst: true,
      width: 'half',
    },
    'request.port': {
      label: 'Port',
      hint: 'Empty: 5432 of PostgreSQL, 3306 of MySQL and MariaDB.',
      isFirst: true,
      width: 'narrow',
    },
    'request.username': { label: 'User', isFirst: true, width: 'half' },
    'request.password': {
      label: 'Password',
      hint: 'Better a secret variable: {{DB_PASSWORD}}.',
      isFirst: true,
      width: 'half',
    },
    'request.database': {
      label: 'Database',
      hint: 'Empty: the name of the user at PostgreSQL, none at MySQL.',
    },
    'request.query': { label: 'Query', hint: 'Its first value is the answer.', lines: 3, isCode: true },
    'request.readOnly': { label: 'Permit no changes: a read-only transaction' },
    'request.statementTimeoutMs': { label: 'Timeout of the query', hint: 'Milliseconds.' },
    'request.useSSL': { label: 'Use TLS' },
    'request.skipSSL': { label: 'With TLS: ignore certificate errors' },
    'request.serverName': { label: 'TLS server name', hint: 'Empty: the host.' },
    'request.ipFamily': ipFamilyWords,
    ...assertionsForm,
    ...limitsForm,
    shouldFail: {
      label: 'Expect a refusal',
      hint: 'Passes when the server refuses or cannot be reached, and fails when it runs the query.',
      topic: 'limits',
    },
  },
  definitionProblems: ({ request }) => assertionProblems(request.assertions),
  masked: maskedInSql,
  detail: SqlDetail,
  detailKey: 'sqlCheckResult',
  shorthand: {
    names: ['POSTGRES', 'POSTGRESQL', 'DATABASE', ...namesOfMysql],
    complete: (fields, name) =>
      withRequest(fields, (request) => ({
        ...splitHost(request),
        ...(namesOfMysql.includes(name) && request['engine'] === undefined && { engine: 'MYSQL' }),
      })),
  },
  artifactFields: diagnosisArtifactFields,
  facts: exchangeFacts,
  summary: summaryOf,
  assertable: ({ response }) =>
    response?.answer
      ? [
          ...asFast(response.timingPhases.total),
          ...sameAgain('Value', 'VALUE', response.answer.value ?? ''),
          ...sameAgain('Rows', 'ROW_COUNT', response.answer.rowCount),
        ]
      : [],
  analytics: {
    route: 'sql-checks',
    metrics: [
      { ...phase('total', 'Total'), overviewAs: 'responseTime' },
      phase('dns', 'DNS lookup'),
      phase('connection', 'Connection'),
      phase('tls', 'TLS'),
      phase('login', 'Login'),
      phase('query', 'Query'),
      { name: 'rowCount', label: 'Rows', unit: 'count', path: ['response', 'answer', 'rowCount'] },
    ],
  },
  isRepeatable: ({ request }) => request.readOnly,
  load: async () => ({ run: (await import('./run.ts')).runSql }),
});
