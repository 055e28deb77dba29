/** The code in a ClickHouse error message: `Code: 60. DB::Exception: …`. */
export function errorCodeIn(message: string): number | null {
  const code = /^Code: (\d+)/.exec(message)?.[1];
  return code === undefined ? null : Number(code);
}
