/** Returns the status with which a proxy refused a tunnel, as undici words it: `Proxy response (407) !== 200 …`. */
export function proxyStatusIn(message: string): number | undefined {
  const digits = /\((\d{3})\)/.exec(message)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
