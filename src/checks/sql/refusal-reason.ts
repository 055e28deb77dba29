import type { RefusalReason } from '../contract/failure-details.ts';

/** SQLSTATEs of PostgreSQL ("PostgreSQL Error Codes"); the first two characters are those of a class. */
const byState: Readonly<Record<string, RefusalReason>> = {
  '28P01': 'CREDENTIALS',
  // No entry in pg_hba.conf, or no such role.
  '28000': 'ACCESS',
  '42501': 'ACCESS',
  '3D000': 'DATABASE',
  '53300': 'CAPACITY',
  '57014': 'TIME',
  '55P03': 'TIME',
  '25006': 'READ_ONLY',
  '57P01': 'STARTING',
  '57P02': 'STARTING',
  '57P03': 'STARTING',
};

/** Numbers of errors of MySQL and MariaDB, which are finer than their SQLSTATEs. */
const byNumber: ReadonlyMap<number, RefusalReason> = new Map([
  ...reasonOf('CREDENTIALS', [1045, 1698, 1862, 3118, 3955]),
  // Hosts that may not log in or are blocked, and rights for databases, tables, columns and statements.
  ...reasonOf('ACCESS', [1044, 1129, 1130, 1142, 1143, 1227, 1370]),
  ...reasonOf('DATABASE', [1049]),
  ...reasonOf('CAPACITY', [1040, 1203, 1226]),
  ...reasonOf('TIME', [1205, 1317, 1969, 3024]),
  ...reasonOf('READ_ONLY', [1290, 1792, 1836]),
  ...reasonOf('STARTING', [1053]),
]);

function reasonOf(reason: RefusalReason, numbers: readonly number[]) {
  return numbers.map((number) => [number, reason] as const);
}

/** Why a database refuses, by the codes of its error; undefined if they only say what is wrong with the query. */
export function refusalReason({
  errorCode,
  sqlState,
}: {
  readonly errorCode: number | null;
  readonly sqlState: string;
}): RefusalReason | undefined {
  if (errorCode !== null) return byNumber.get(errorCode);
  return Object.hasOwn(byState, sqlState) ? byState[sqlState] : undefined;
}
