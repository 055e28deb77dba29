/** The codes of an error of a database server, as people look them up: `28P01`, or `1045, 28000` of MySQL. */
export function codesOf({
  errorCode,
  sqlState,
}: {
  readonly errorCode: number | null;
  readonly sqlState: string;
}): string {
  return errorCode === null ? sqlState : `${errorCode}, ${sqlState}`;
}
