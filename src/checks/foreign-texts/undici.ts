/** The status with which a proxy refused a tunnel, as the client of Node words it: `Proxy response (407) !== 200 …`. */
export function proxyStatusIn(message: string): number | undefined {
  const digits = /\((\d{3})\)/.exec(message)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
